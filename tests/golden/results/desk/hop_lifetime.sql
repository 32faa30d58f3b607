SELECT who FROM HOP_LIFETIME(clicks, 10us, 5us)
