SELECT n * 5s AS x FROM clicks
