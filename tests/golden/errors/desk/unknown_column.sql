SELECT usr, page FROM clicks
