SELECT who FROM SHIFT(calls, 100us)
