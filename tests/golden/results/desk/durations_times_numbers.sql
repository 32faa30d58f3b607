SELECT who, since + n * 1ms AS later
FROM SET_DURATION(visits, 2 * 1us)
