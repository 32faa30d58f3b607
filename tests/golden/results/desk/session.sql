SELECT who, COUNT(*) AS n, FIRST(page) AS first, LAST(page) AS last FROM clicks GROUP BY who WITH SESSION(6us)
