SELECT page FROM clicks WHERE ts > 'yesterday'
