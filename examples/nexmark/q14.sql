-- Query 14: dear bids, with the time of the day and the number of letters c in their extra.
--
-- The usual form counts letters with a function of the user; here it is a function of the language.

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

dear =
SELECT *, hour(dateTime) AS hour
FROM bid
WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;

q14 =
SELECT
  auction,
  bidder,
  0.908 * price AS price,
  CASE
    WHEN hour BETWEEN 8 AND 18 THEN 'dayTime'
    WHEN hour <= 6 OR hour >= 20 THEN 'nightTime'
    ELSE 'otherTime'
  END AS bidTimeType,
  dateTime,
  extra,
  regexp_count(extra, 'c') AS c_counts
FROM dear;

OUTPUT q14;
