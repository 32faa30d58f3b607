-- Points, intervals with an end of their own, intervals of one length, and a table.
CREATE STREAM clicks (who STRING, page STRING, ms DOUBLE, ts TIMESTAMP)
  POINT AT ts
  WATERMARK ts - 2s IDLE AFTER 30s
  LATE DROP;

CREATE STREAM calls (who STRING, city STRING, cost INT, since TIMESTAMP, until TIMESTAMP)
  LIFETIME (since, until)
  WATERMARK since - 1m;

CREATE STREAM visits (who STRING, city STRING, n BIGINT, ts TIMESTAMP)
  LIFETIME (ts, ts + 2 MINUTES)
  WATERMARK ts
  LATE ADJUST;

CREATE TABLE cities (city STRING, country STRING, people BIGINT) AS VALUES
  ('Rome', 'IT', 2800000),
  ('Oslo', 'NO', 700000);
