SELECT user FROM clicks AS c WERE ms > 5
