SELECT c.page FROM clicks c JOIN sessions s ON c.n = s.device
