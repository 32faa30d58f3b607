-- Grep: how many lines of each second match a pattern.

CREATE STREAM lines (ts BIGINT, text STRING)
  POINT AT ts
  WATERMARK ts - 1s
  FROM files(:lines);

grep =
SELECT COUNT(*) AS count
FROM lines
WHERE contains(text, 'to be')
WITH TUMBLING(1s);

OUTPUT grep;
