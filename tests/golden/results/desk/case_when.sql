SELECT who, CASE WHEN cost > 4 THEN 'high' WHEN cost > 2 THEN 'middle' ELSE 'low' END AS level FROM calls
