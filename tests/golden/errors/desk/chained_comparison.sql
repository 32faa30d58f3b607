SELECT user FROM clicks WHERE 1 < ms < 5
