-- Query 9: every auction with the bid that has won it.
--
-- As in query 4, a bid must reach the reserve and come before the end; the result is given at the instant of the
-- close. Of equal prices the earliest wins; were there two in the same millisecond, both would be given.

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
      SELECT a.*, b.auction, b.bidder, b.price, b.dateTime AS bid_dateTime, b.extra AS bid_extra
      FROM auction AS a
      JOIN bid AS b ON a.id = b.auction AND b.price >= a.reserve
    ),
    unix_micros(expires) - unix_micros(START())
  )
);

highest =
SELECT *
FROM closing
ORDER BY price DESC
LIMIT 1 BY id;

q9 =
SELECT *
FROM highest
ORDER BY bid_dateTime
LIMIT 1 BY id;

OUTPUT q9;
