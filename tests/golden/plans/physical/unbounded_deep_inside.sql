SET allow_unbounded = true;
paired = SELECT s.page, v.city FROM SET_DURATION(clicks, FOREVER) s JOIN visits v ON s.who = v.who;
SELECT city, COUNT(*) AS n FROM paired GROUP BY city WITH TUMBLING(1m);
