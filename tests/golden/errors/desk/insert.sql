INSERT INTO out SELECT user FROM clicks
