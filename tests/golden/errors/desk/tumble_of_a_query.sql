SELECT window_start, COUNT(*) AS n FROM TUMBLE(recent, page, 5s) GROUP BY window_start
