SELECT who FROM SHIFT(clicks, -1us)
