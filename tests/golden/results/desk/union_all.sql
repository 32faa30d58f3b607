SELECT who, cost FROM calls WHERE cost < 5
UNION ALL
SELECT page, ms FROM clicks
