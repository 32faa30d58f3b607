SELECT c.page, v.city FROM clicks c LEFT JOIN visits v ON c.who = v.who;
