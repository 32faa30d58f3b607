SELECT c.who, c.cost, k.page FROM calls c ASOF LEFT JOIN clicks k ON c.who = k.who WITHIN 2us
