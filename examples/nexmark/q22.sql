-- Query 22: the directories of the address.

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

q22 =
SELECT
  auction,
  bidder,
  price,
  channel,
  get(split(url, '/'), 3) AS dir1,
  get(split(url, '/'), 4) AS dir2,
  get(split(url, '/'), 5) AS dir3
FROM bid;

OUTPUT q22;
