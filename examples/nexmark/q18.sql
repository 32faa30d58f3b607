-- Query 18: the last bid of each bidder on each auction.
--
-- A bid is valid until the bidder's next on that auction: at every instant the valid ones are the last ones. Two in
-- the same millisecond are both last (the usual form keeps one of them, it does not say which).

SET allow_unbounded = TRUE; -- lifetimes without end are meant

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

q18 =
SELECT b.*
FROM SET_DURATION(bid, FOREVER) AS b
CLIP JOIN bid AS next ON b.bidder = next.bidder AND b.auction = next.auction;

OUTPUT q18;
