SELECT s.who, s.page FROM SET_DURATION(clicks, FOREVER) s CLIP JOIN clicks c ON s.who = c.who;
