SELECT who, city FROM visits UNION ALL SELECT who, city FROM calls;
