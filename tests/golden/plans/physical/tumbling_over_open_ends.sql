SELECT city, MAX(cost) AS most FROM calls GROUP BY city WITH TUMBLING(1h);
