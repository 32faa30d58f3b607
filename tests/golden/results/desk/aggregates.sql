SELECT COUNT(*) AS n, COUNT(ms) AS has, COUNT(DISTINCT page) AS pages, SUM(ms) AS s, AVG(ms) AS a, MIN(ms) AS lo, MAX(ms) AS hi
FROM clicks WITH TUMBLING(50us)
