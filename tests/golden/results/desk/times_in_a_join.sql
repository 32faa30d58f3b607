SELECT c.who, START(c) AS called, START(k) AS clicked, START() AS both FROM calls c JOIN clicks k ON c.who = k.who
