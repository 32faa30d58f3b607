SELECT upper(user, page) AS u FROM clicks
