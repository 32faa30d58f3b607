-- Query 4: the average of the winning prices of each category.
--
-- An auction is valid while it is open, so a bid on it is one that overlaps it. As in Beam, a bid must reach the
-- reserve, one at the very end comes too late, and an auction counts from its close on. (The form of Flink has no
-- reserve, takes in the end, and corrects its answer with every bid.) An average is valid until the next auction of
-- the category closes.

SET allow_unbounded = TRUE; -- lifetimes without end are meant

CREATE STREAM auction (
  id BIGINT,
  itemName STRING,
  description STRING,
  initialBid BIGINT,
  reserve BIGINT,
  dateTime TIMESTAMP,
  expires TIMESTAMP,
  seller BIGINT,
  category BIGINT,
  extra STRING
)
  LIFETIME (dateTime, expires) -- while one can bid
  WATERMARK dateTime - 1s
  FROM files(:auction);

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

-- Every bid that reaches the reserve while its auction is open, moved to the instant at which that closes.
closing =
SELECT *
FROM POINT_AT_END(
  SET_DURATION(
    (
      SELECT a.id, a.category, a.expires, b.price
      FROM auction AS a
      JOIN bid AS b ON a.id = b.auction AND b.price >= a.reserve
    ),
    unix_micros(expires) - unix_micros(START())
  )
);

winning =
SELECT id, category, MAX(price) AS final
FROM closing
GROUP BY id, category
WITH SNAPSHOT;

q4 =
SELECT category, AVG(final) AS average
FROM SET_DURATION(winning, FOREVER)
GROUP BY category
WITH SNAPSHOT;

OUTPUT q4;
