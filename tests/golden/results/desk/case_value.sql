SELECT who, CASE city WHEN 'Rome' THEN 1 WHEN 'Oslo' THEN 2 END AS code FROM calls
