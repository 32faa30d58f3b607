-- Query 2: bids on some auctions.

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

q2 =
SELECT auction, price
FROM bid
WHERE auction % 123 = 0;

OUTPUT q2;
