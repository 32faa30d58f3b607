SELECT who, n FROM visits ORDER BY n DESC LIMIT 3 BY who;
