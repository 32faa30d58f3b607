a = SELECT usr FROM clicks;
b = SELECT user FROM a;
c = SELECT page FROM clicks WHERE ms;
d = SELECT FROM clicks;
OUTPUT b;
