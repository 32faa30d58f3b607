SELECT c.who, k.page, t.country FROM calls c JOIN clicks k ON c.who = k.who JOIN cities t ON t.city = c.city
