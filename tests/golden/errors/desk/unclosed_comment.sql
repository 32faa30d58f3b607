SELECT user /* the user FROM clicks
