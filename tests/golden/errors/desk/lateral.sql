SELECT word FROM clicks LATERAL VIEW explode(split(page, '/')) AS word
