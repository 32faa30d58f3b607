SELECT page FROM clicks WHERE page LIKE 1.0;
