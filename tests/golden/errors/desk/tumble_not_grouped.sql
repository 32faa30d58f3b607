SELECT user, COUNT(*) AS n FROM TUMBLE(clicks, ts, 5s) GROUP BY user
