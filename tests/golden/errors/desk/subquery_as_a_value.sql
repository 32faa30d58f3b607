SELECT user FROM clicks WHERE ms > (SELECT MAX(ms) FROM clicks)
