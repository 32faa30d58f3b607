SELECT DISTINCT who, city FROM visits;
