SELECT * FROM nothing
