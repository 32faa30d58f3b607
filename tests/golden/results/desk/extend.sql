SELECT who FROM EXTEND(calls, -5us)
