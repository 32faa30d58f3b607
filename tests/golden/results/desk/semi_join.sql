SELECT who, cost FROM calls LEFT SEMI JOIN visits ON calls.who = visits.who
