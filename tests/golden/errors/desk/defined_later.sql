a = SELECT user FROM b;
b = SELECT user FROM clicks;
