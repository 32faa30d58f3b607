SELECT city, who <=> NULL AS nobody, who IS DISTINCT FROM 'ann' AS other FROM calls
