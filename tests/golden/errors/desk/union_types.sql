SELECT user, ms FROM clicks UNION ALL SELECT user, device FROM sessions
