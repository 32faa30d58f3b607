SELECT c.who, c.city, t.country FROM calls c LEFT JOIN cities t ON c.city = t.city WHERE c.b < 30
