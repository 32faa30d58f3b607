SELECT c.page, v.city FROM clicks c CROSS JOIN visits v;
