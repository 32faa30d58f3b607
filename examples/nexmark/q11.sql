-- Query 11: how many bids each bidder makes in a session, which ends where none follows for ten seconds.
--
-- A bid exactly ten seconds after the one before begins a new session.

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

q11 =
SELECT bidder, COUNT(*) AS bid_count, WINDOW_START() AS starttime, WINDOW_END() AS endtime
FROM bid
GROUP BY bidder
WITH SESSION(10s);

OUTPUT q11;
