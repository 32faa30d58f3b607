SELECT c.who AS caller, k.who AS clicker FROM calls c JOIN clicks k ON c.cost < k.ms
