SELECT c.who, k.page FROM calls c ASOF JOIN clicks k ON c.who = k.who AND c.a >= k.t
