SELECT c.who, k.page FROM calls c JOIN clicks k ON c.who = k.who AND START(k) > START(c) + 1us
