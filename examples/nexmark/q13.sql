-- Query 13: bids with a value from a file.
--
-- The file is a table: its rows are valid for ever. (The usual form looks them up by processing time.)

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

CREATE TABLE side_input (key BIGINT, value STRING)
  FROM files(:side);

q13 =
SELECT b.auction, b.bidder, b.price, b.dateTime, s.value
FROM bid AS b
JOIN side_input AS s ON b.auction % 10000 = s.key;

OUTPUT q13;
