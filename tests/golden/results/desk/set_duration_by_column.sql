SELECT who, n FROM SET_DURATION(visits, n * 1)
