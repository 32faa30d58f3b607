SELECT c.who, k.page FROM calls c JOIN clicks k ON upper(c.who) = upper(k.who)
