SELECT page FROM clicks WHERE user > 5
