SELECT who FROM CHOP(visits, 5us, offset => 1us)
