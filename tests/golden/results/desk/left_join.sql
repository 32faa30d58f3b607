SELECT c.who, c.cost, k.page FROM calls c LEFT OUTER JOIN SET_DURATION(clicks, 2us) k ON c.who = k.who WHERE c.b < 30
