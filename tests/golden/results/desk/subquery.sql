SELECT x.who, x.c + 1 AS more FROM (SELECT who, cost AS c FROM calls WHERE cost > 2) AS x
