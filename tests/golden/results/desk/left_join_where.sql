SELECT c.who FROM calls c LEFT JOIN visits v ON c.who = v.who WHERE v.who IS NULL AND c.b < 30
