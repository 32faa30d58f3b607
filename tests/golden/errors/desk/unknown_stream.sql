SELECT * FROM click
