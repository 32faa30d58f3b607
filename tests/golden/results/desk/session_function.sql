SELECT who, window_start, COUNT(*) AS n
FROM SESSION(TABLE clicks PARTITION BY who, DESCRIPTOR(t), INTERVAL '6' MICROSECONDS)
GROUP BY who, window_start, window_end
