SELECT user FROM clicks ORDER BY ms, n LIMIT 3
