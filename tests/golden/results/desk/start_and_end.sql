SELECT who, START() AS s, END() AS e FROM calls
