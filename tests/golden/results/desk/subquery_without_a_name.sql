SELECT who FROM (SELECT who FROM calls)
