SELECT c.page FROM clicks c JOIN sessions s
