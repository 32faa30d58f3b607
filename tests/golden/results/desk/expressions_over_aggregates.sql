SELECT who, SUM(ms) / COUNT(ms) AS mean, MAX(ms) - MIN(ms) AS span, 'n' || CAST(COUNT(*) AS STRING) AS text
FROM clicks GROUP BY who WITH TUMBLING(50us)
