SELECT who, city FROM visits UNION SELECT who, city FROM calls;
