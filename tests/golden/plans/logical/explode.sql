SELECT who, part FROM (SELECT who, explode(split(page, '/')) AS part FROM clicks);
