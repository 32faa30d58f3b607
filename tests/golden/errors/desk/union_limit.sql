SELECT user FROM clicks UNION ALL SELECT user FROM sessions ORDER BY user LIMIT 3
