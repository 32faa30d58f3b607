SELECT user FROM clicks WHERE user IN (SELECT user FROM sessions)
