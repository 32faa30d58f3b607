SELECT who, cost FROM calls WHERE cost IS NULL OR who IS NULL
