SELECT who, cost FROM calls
