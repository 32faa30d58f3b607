SELECT c.page, v.city FROM clicks c JOIN visits v ON c.who = v.who;
