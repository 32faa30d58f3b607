SELECT window_end, COUNT(*) AS n FROM HOP(clicks, t, 5us, 10us) GROUP BY window_end
