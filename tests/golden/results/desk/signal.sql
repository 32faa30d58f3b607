SELECT v.who, v.ms FROM SET_DURATION(clicks, FOREVER) v CLIP JOIN clicks k ON v.who = k.who
