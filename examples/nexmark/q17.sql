-- Query 17: the prices of each auction and day.
--
-- Given once, when the day is over. (The usual form corrects its answer with every bid.)

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

q17 =
SELECT
  auction,
  date_format(WINDOW_START(), 'yyyy-MM-dd') AS day,
  COUNT(*) AS total_bids,
  COUNT(*) FILTER (WHERE price < 10000) AS rank1_bids,
  COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
  COUNT(*) FILTER (WHERE price >= 1000000) AS rank3_bids,
  MIN(price) AS min_price,
  MAX(price) AS max_price,
  AVG(price) AS avg_price,
  SUM(price) AS sum_price
FROM bid
GROUP BY auction
WITH TUMBLING(1d);

OUTPUT q17;
