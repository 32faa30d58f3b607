SELECT c.page FROM clicks c RIGHT JOIN sessions s ON c.user = s.user
