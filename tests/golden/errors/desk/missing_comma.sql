SELECT user page ms FROM clicks
