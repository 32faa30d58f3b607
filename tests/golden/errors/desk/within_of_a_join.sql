SELECT c.page FROM clicks c JOIN sessions s ON c.user = s.user WITHIN 5m
