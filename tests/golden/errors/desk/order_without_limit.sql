SELECT user FROM clicks ORDER BY ms
