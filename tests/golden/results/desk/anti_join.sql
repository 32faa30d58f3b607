SELECT who, cost FROM calls LEFT ANTI SEMI JOIN visits ON calls.who = visits.who WHERE b < 30
