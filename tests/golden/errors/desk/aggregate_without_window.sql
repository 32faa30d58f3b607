SELECT user, COUNT(*) AS n FROM clicks GROUP BY user
