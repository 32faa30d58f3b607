-- Query 20: bids with their auction, of category 10.
--
-- Bids and auctions are remembered for ever, since a bid may name an auction that is opened only later. A pair is
-- valid from the later of the two on.

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

q20 =
SELECT
  b.auction,
  b.bidder,
  b.price,
  b.channel,
  b.url,
  b.dateTime AS bid_dateTime,
  b.extra AS bid_extra,
  a.itemName,
  a.description,
  a.initialBid,
  a.reserve,
  a.dateTime AS auction_dateTime,
  a.expires,
  a.seller,
  a.category,
  a.extra AS auction_extra
FROM SET_DURATION(bid, FOREVER) AS b
JOIN SET_DURATION(auction, FOREVER) AS a ON b.auction = a.id
WHERE a.category = 10;

OUTPUT q20;
