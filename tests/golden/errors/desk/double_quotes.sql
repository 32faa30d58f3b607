SELECT user FROM clicks WHERE page = "home"
