-- Small times in microseconds, so that results can be checked by hand.
CREATE STREAM calls (who STRING, city STRING, cost INT, a BIGINT, b BIGINT)
  LIFETIME (a, b)
  WATERMARK a - 1h;

CREATE STREAM clicks (who STRING, page STRING, ms DOUBLE, t BIGINT)
  POINT AT t
  WATERMARK t - 1h;

CREATE STREAM visits (who STRING, text STRING, since TIMESTAMP, day DATE, vip BOOLEAN, n BIGINT)
  LIFETIME (since, since + 5us)
  WATERMARK since - 1h;

CREATE TABLE cities (city STRING, country STRING, people BIGINT) AS VALUES
  ('Rome', 'IT', 2800000),
  ('Oslo', 'NO', 700000),
  ('Graz', 'AT', NULL);
