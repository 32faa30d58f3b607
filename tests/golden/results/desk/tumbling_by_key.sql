SELECT who, COUNT(*) AS n, SUM(cost) AS total FROM calls GROUP BY who WITH TUMBLING(10us)
