SELECT c.page FROM clicks c ASOF JOIN sessions s ON c.user = s.user AND c.ms > 5
