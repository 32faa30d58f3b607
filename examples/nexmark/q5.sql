-- Query 5: the auctions with the most bids in the last ten seconds, every two seconds.
--
-- Auctions with equally many are all given, as in the usual form. A result is valid from the end of its window until
-- the next.

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

q5 =
SELECT auction, COUNT(*) AS num, WINDOW_START() AS starttime, WINDOW_END() AS endtime
FROM bid
GROUP BY auction
WITH HOPPING(10s, 2s)
ORDER BY num DESC
LIMIT 1;

OUTPUT q5;
