SELECT split(page, '/')[0] AS first FROM clicks
