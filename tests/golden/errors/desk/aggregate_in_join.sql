SELECT c.page FROM clicks c JOIN sessions s ON c.user = MAX(s.user)
