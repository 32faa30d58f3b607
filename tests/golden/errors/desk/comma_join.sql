SELECT c.page FROM clicks c, sessions s WHERE c.user = s.user
