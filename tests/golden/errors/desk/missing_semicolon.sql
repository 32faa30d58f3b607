a = SELECT user FROM clicks
b = SELECT page FROM clicks;
