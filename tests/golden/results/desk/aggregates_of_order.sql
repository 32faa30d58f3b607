SELECT FIRST(page) AS f, LAST_VALUE(page) AS l, TOP_K(ms, 2) AS best, ARRAY_AGG(who) AS who, APPROX_COUNT_DISTINCT(who) AS about
FROM clicks WITH TUMBLING(50us)
