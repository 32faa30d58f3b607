SELECT who, cost FROM calls ORDER BY cost DESC LIMIT 1
