SELECT user FROM CHOP(clicks, 5s, ofset => 1s)
