SELECT page FROM clicks WHERE ms + 1
