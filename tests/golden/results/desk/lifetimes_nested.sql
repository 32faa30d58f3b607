SELECT a.who FROM EXTEND(SHIFT(calls, 1us), 2us) AS a WHERE a.cost = 5
