SELECT window_start, COUNT(*) AS n FROM TUMBLE(sessions, started, 5s) GROUP BY window_start
