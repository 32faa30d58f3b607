SELECT who, SUM(ms) AS ms FROM clicks GROUP BY who WITH TUMBLING(50us) HAVING ms > 2 AND who <> 'bob'
