-- Rides of a bicycle: moves that are less than five minutes apart belong together.
CREATE STREAM moves (bicycle BIGINT, metres BIGINT, ts TIMESTAMP)
  POINT AT ts
  WATERMARK ts - 0s
  LATE FAIL;

rides =
SELECT bicycle, COUNT(*) AS moves, SUM(metres) AS metres
FROM moves
GROUP BY bicycle
WITH SESSION(5m);

OUTPUT rides TO jsonl('rides.jsonl');
