SELECT COUNT(*) FILTER (WHERE page = 'home') AS home, COUNT_IF(ms > 2) AS slow, SUM(ms) FILTER (WHERE who = 'ann') AS ann
FROM clicks WITH TUMBLING(10us)
