CREATE STREAM s (a INT, b INT, t TIMESTAMP) WATERMARK t;
short = SELECT CASE WHEN a = 1 THEN 'one' ELSE 'many' END AS x FROM s;
single = SELECT CASE WHEN a BETWEEN 1 AND 10 THEN 'few' WHEN a > 10 AND b > 100 THEN 'a lot of them' ELSE 'none at all of them' END AS how_many FROM s;
items = SELECT a, CASE a WHEN 1 THEN 'the first of them all' WHEN 2 THEN 'the second of them all' WHEN 3 THEN 'third' ELSE 'another' END AS place, b FROM s;
nested = SELECT a, CASE WHEN a > 1 THEN CASE WHEN b > 1 THEN 'both of them are greater' ELSE 'only the first is greater' END ELSE 'neither is' END AS x FROM s;
inside = SELECT SUM(CASE WHEN a > 1 AND b > 1 THEN a * b WHEN a > 1 THEN a WHEN b > 1 THEN b ELSE 0 END) + 1 AS total_of_all FROM s WITH TUMBLING(5s);
conditions = SELECT a FROM s WHERE a > 1000000 AND b > 1000000 AND CASE WHEN a > b THEN TRUE ELSE FALSE END OR b BETWEEN 1 AND 2;
wide = SELECT a FROM s WHERE CASE WHEN a > 1000000 AND b > 1000000 AND a < 9000000 AND b < 9000000 AND a <> b AND a + b < 12345678 THEN TRUE ELSE FALSE END AND b > 0;
commented = SELECT CASE WHEN a = 1 THEN 'one' -- the first
  ELSE 'many' END AS x, END() AS e FROM s;
out = SELECT a, CASE WHEN a = 1 THEN 'one' END || CASE WHEN b = 1 THEN 'another text that is long' ELSE 'and more text to fill the line' END AS x FROM s;
