SELECT user, COUNT(*) AS n FROM SESSION(clicks, ts, 30s) GROUP BY user, window_start
