SELECT v.who, c.country FROM visits v JOIN cities c ON v.city = c.city;
