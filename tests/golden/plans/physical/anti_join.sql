SELECT * FROM clicks c LEFT ANTI JOIN calls v ON c.who = v.who;
