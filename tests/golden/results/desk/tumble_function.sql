SELECT who, window_start, window_end, COUNT(*) AS n
FROM TUMBLE(clicks, t, INTERVAL '10' MICROSECOND)
GROUP BY who, window_start, window_end
