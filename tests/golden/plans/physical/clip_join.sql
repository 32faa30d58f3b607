SELECT * FROM visits v CLIP JOIN clicks c ON v.who = c.who;
