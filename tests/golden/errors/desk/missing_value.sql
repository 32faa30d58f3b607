SELECT user FROM clicks WHERE ms >
