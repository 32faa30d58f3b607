SELECT * FROM (SELECT who, cost FROM calls) c JOIN (SELECT who, page FROM clicks) k USING (who)
