-- TopKCount: every second, the three words that came most often in the last 30 seconds. Ties stay.

CREATE STREAM lines (ts BIGINT, text STRING)
  POINT AT ts
  WATERMARK ts - 1s
  FROM files(:lines);

words =
SELECT EXPLODE(split(text, ' ')) AS word
FROM lines;

counts =
SELECT word, COUNT(*) AS n
FROM words
GROUP BY word
WITH HOPPING(30s, 1s)
ORDER BY n DESC
LIMIT 3;

-- A result of HOPPING is valid from the end of its window on; in D-Streams, in the interval that ends there.
top_k_count =
SELECT *
FROM SHIFT(counts, -1s);

OUTPUT top_k_count;
