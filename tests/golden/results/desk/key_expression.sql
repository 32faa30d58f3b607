SELECT lower(page) AS page, COUNT(*) AS n FROM clicks GROUP BY lower(page) WITH TUMBLING(50us)
