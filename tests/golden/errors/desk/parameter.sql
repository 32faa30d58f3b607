SELECT user FROM clicks WHERE ms > :least
