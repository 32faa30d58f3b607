SELECT who, city FROM calls LEFT ANTI SEMI JOIN cities ON calls.city = cities.city
