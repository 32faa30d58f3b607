SELECT c.who, v.who AS visitor FROM calls c CROSS JOIN visits v WHERE v.n > 10
