SELECT * FROM clicks c LEFT SEMI JOIN visits v ON c.who = v.who;
