WITH cheap AS (SELECT who, cost FROM calls WHERE cost < 5), twice AS (SELECT who, cost * 2 AS c FROM cheap)
SELECT who, c FROM twice
