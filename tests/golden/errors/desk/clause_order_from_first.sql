FROM clicks SELECT user
