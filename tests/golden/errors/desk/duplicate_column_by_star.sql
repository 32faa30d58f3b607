SELECT * FROM clicks c JOIN sessions s ON c.user = s.user
