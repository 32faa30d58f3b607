SELECT who, upper(page) AS page, ms / 1000 AS s FROM clicks WHERE ms > 5 AND page LIKE 'a%';
