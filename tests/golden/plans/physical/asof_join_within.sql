SELECT c.who, v.city FROM clicks c ASOF LEFT JOIN visits v ON c.who = v.who WITHIN 5m;
