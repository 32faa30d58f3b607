SELECT ts + 5 AS later FROM clicks
