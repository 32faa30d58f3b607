SELECT page, who FROM clicks WHERE page NOT LIKE 'home'
