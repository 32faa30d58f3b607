SELECT upper(ms) AS x FROM clicks
