SELECT user FROM clicks WHERE ms > 5 WHERE n > 3
