-- Query 7: the bids with the highest price of every ten seconds.
--
-- A window ends before the next begins. The usual form takes in both ends, so that a bid on the border may be given
-- twice.

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

q7 =
SELECT auction, price, bidder, dateTime, extra
FROM bid
WITH TUMBLING(10s)
ORDER BY price DESC
LIMIT 1;

OUTPUT q7;
