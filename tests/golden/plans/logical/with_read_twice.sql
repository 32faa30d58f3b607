WITH slow AS (SELECT who, ms FROM clicks WHERE ms > 100) SELECT a.who, a.ms, b.ms AS other FROM slow a JOIN slow b ON a.who = b.who AND a.ms < b.ms;
