SELECT a.who AS one, b.who AS other FROM calls a JOIN calls b ON a.city = b.city AND a.who < b.who
