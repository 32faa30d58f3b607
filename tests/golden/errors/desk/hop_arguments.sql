SELECT window_start, COUNT(*) AS n FROM HOP(clicks, ts, 10s, 5s) GROUP BY window_start
