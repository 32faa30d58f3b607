SELECT who, page FROM clicks WHERE ms > 5;
