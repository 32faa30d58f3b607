SELECT * FROM CHOP(calls, 1h);
