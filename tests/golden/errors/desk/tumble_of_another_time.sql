SELECT window_start, COUNT(*) AS n FROM TUMBLE(sessions, ended, 5s) GROUP BY window_start
