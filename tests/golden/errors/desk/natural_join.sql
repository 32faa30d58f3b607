SELECT page FROM clicks NATURAL JOIN sessions
