SELECT v.who, c.country, CASE WHEN c.people > 1000000 THEN 'large' ELSE 'small' END AS size FROM visits v LEFT JOIN cities c ON v.city = c.city;
