SELECT who, AVG(ms) AS ms FROM clicks GROUP BY who WITH COUNT(10);
