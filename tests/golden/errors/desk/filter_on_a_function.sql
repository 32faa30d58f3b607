SELECT upper(user) FILTER (WHERE ms > 5) AS u FROM clicks
