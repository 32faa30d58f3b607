SELECT page FROM clicks WHERE page LIKE 'ho%' OR page LIKE '%rt' OR page LIKE '%om%'
