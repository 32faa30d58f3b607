-- Query 3: who sells in category 10 from Oregon, Idaho or California.
--
-- People and auctions are remembered for ever, since an auction may name a seller who registers only later. A pair is
-- valid from the later of the two on.

SET allow_unbounded = TRUE; -- lifetimes without end are meant

CREATE STREAM person (
  id BIGINT,
  name STRING,
  emailAddress STRING,
  creditCard STRING,
  city STRING,
  state STRING,
  dateTime TIMESTAMP,
  extra STRING
)
  POINT AT dateTime
  WATERMARK dateTime - 1s
  FROM files(:person);

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

q3 =
SELECT p.name, p.city, p.state, a.id
FROM SET_DURATION(auction, FOREVER) AS a
JOIN SET_DURATION(person, FOREVER) AS p ON a.seller = p.id
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');

OUTPUT q3;
