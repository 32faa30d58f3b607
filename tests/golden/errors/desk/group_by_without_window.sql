SELECT user FROM clicks GROUP BY user
