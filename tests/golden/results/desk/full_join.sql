SELECT c.who AS l, v.who AS r FROM (SELECT who FROM calls WHERE b < 14) c FULL OUTER JOIN visits v ON c.who = v.who
