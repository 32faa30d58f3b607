SELECT c.who, c.cost, k.page FROM calls c ASOF JOIN clicks k ON c.who = k.who
