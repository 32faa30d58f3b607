SELECT who, cost, n FROM (SELECT who, cost FROM calls WHERE b < 14) c FULL JOIN visits v USING (who)
