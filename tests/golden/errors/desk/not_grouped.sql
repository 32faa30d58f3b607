SELECT user, page, COUNT(*) AS n FROM clicks GROUP BY user WITH TUMBLING(5s)
