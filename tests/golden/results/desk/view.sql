CREATE VIEW cheap AS SELECT who, cost FROM calls WHERE cost < 5;
dear = SELECT who, cost FROM calls WHERE cost >= 5;
OUTPUT cheap;
OUTPUT dear AS expensive;
