SELECT 5s AS x FROM clicks
