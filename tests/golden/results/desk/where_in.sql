SELECT who, city FROM calls WHERE city IN ('Rome', 'Bonn') AND cost NOT IN (9)
