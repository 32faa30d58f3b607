SELECT c.who, k.page FROM calls AS c JOIN clicks k ON k.who = c.who AND k.ms > c.cost
