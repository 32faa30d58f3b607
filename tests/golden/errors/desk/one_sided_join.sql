SELECT c.page, s.device FROM clicks c LEFT SEMI JOIN sessions s ON c.user = s.user
