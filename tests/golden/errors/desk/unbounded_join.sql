kept = SELECT c.user, s.device
FROM SET_DURATION(clicks, FOREVER) c
INNER JOIN sessions s ON c.user = s.user;
OUTPUT kept;
