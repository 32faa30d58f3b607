SELECT user FROM EXTEND(clicks, 2 years)
