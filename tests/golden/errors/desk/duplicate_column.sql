SELECT user, page AS user FROM clicks
