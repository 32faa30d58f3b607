CREATE STREAM clicks (
  user STRING,
  at   TIMESTAMP
) WATERMARK at;

per_user =
SELECT user, COUNT(*) AS n
FROM clicks
GROUP BY user
WITH TUMBLING(5s, 1s);
