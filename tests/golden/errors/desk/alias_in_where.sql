SELECT ms * 2 AS twice FROM clicks WHERE twice > 5
