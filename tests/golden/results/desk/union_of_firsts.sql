(SELECT who, cost FROM calls ORDER BY cost DESC LIMIT 1) UNION ALL (SELECT who, cost FROM calls ORDER BY cost LIMIT 1)
