SELECT t.country, COUNT(*) AS n, SUM(c.cost) AS cost FROM calls c JOIN cities t ON c.city = t.city GROUP BY t.country WITH TUMBLING(10us)
