SELECT user FROM clicks
WHERE page = 'home AND ms > 5
