SELECT c.who, c.cost FROM calls c CLIP JOIN clicks k ON c.who = k.who
