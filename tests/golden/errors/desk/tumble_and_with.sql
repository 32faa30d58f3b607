SELECT COUNT(*) AS n FROM TUMBLE(clicks, ts, 5s) GROUP BY window_start WITH TUMBLING(5s)
