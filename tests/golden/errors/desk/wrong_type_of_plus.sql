SELECT user + 1 AS x FROM clicks
