SELECT upper(who) AS u, LENGTH(city) AS l, coalesce(cost, 0) AS c, abs(-cost) AS a, nvl(cost, 1) AS n, nullif(cost, 3) AS x,
       if(cost > 3, 'y', 'n') AS y
FROM calls
