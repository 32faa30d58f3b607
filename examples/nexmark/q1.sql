-- Query 1: prices in another currency.

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

q1 =
SELECT auction, bidder, 0.908 * price AS price, dateTime, extra
FROM bid;

OUTPUT q1;
