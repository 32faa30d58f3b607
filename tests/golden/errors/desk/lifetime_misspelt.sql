SELECT user FROM SHFT(clicks, 5s)
