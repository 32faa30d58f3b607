SELECT user FROM SHIFT(clicks)
