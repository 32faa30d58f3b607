SELECT upper(user FROM clicks
