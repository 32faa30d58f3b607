SELECT uper(user) AS u FROM clicks
