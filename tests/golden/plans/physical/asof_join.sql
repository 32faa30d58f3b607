SELECT c.who, v.city FROM clicks c ASOF JOIN visits v ON c.who = v.who;
