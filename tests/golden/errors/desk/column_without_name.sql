SELECT user, ms * 2 FROM clicks
