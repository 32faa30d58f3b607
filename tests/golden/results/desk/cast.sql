SELECT who, CAST(cost AS DOUBLE) AS d, cost::STRING AS s, CAST('12' AS INT) AS i, TRY_CAST('x' AS INT) AS bad FROM calls
