SELECT c.who, t.country FROM calls c JOIN cities t ON c.city = t.city
