SELECT user, page FROM clicks UNION ALL SELECT user FROM sessions
