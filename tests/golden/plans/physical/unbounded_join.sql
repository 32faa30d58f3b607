SET allow_unbounded = true;
SELECT s.page, v.city FROM SET_DURATION(clicks, FOREVER) s JOIN visits v ON s.who = v.who;
