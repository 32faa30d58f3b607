SELECT page FROM clicks WHERE ms AND n > 3
