SELECT * FROM clicks
