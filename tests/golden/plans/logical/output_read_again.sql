per_minute = SELECT who, COUNT(*) AS n FROM clicks GROUP BY who WITH TUMBLING(1m);
most = SELECT MAX(n) AS n FROM per_minute WITH TUMBLING(1h);
OUTPUT per_minute; OUTPUT most;
