SET allow_unbounded = true;
SELECT * FROM SET_DURATION(clicks, FOREVER);
