CREATE STREAM visits (who STRING, n INT, ts TIMESTAMP) LIFETIME (ts, ts + 1m) WATERMARK ts;
alive = SELECT who, COUNT(*) AS n FROM visits GROUP BY who WITH SNAPSHOT;
twice = SELECT a.who, a.n, b.n AS more FROM alive a JOIN alive b ON a.who = b.who AND a.n < b.n;
few = SELECT who FROM visits WHERE n < 3;
OUTPUT twice;
OUTPUT few;
