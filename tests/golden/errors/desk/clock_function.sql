SELECT page FROM clicks WHERE ts > now()
