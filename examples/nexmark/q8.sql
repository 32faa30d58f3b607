-- Query 8: people who opened an auction within the ten seconds in which they registered.
--
-- Registrations and openings are stretched to their windows; two that overlap are then in the same one.

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

opened =
SELECT DISTINCT seller
FROM QUANTIZE(SET_DURATION(auction, 1us), 10s);

q8 =
SELECT p.id, p.name, START(p) AS starttime, END(p) AS endtime
FROM QUANTIZE(person, 10s) AS p
JOIN opened ON p.id = opened.seller;

OUTPUT q8;
