SELECT v.city, c.cost FROM visits v FULL JOIN calls c ON v.who = c.who;
