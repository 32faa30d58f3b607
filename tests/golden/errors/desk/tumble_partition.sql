SELECT window_start, COUNT(*) AS n FROM TUMBLE(TABLE clicks PARTITION BY user, ts, 5s) GROUP BY window_start
