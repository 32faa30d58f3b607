-- Query 0: every bid, as it is.

CREATE STREAM bid (
  auction BIGINT,
  bidder BIGINT,
  price BIGINT,
  channel STRING,
  url STRING,
  dateTime TIMESTAMP,
  extra STRING
)
  POINT AT dateTime
  WATERMARK dateTime - 1s
  FROM files(:bid);

q0 =
SELECT auction, bidder, price, dateTime, extra
FROM bid;

OUTPUT q0;
