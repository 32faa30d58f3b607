SELECT window_start, COUNT(*) AS n FROM TUMBLE(TABLE clicks, DESCRIPTOR(t), 10us) GROUP BY window_start, window_end
