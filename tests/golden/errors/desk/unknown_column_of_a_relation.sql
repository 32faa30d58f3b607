SELECT s.devcie
FROM clicks c
JOIN sessions AS s ON c.user = s.user
