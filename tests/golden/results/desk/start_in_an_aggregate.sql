SELECT who, MIN(START()) AS first, MAX(END()) AS last FROM calls GROUP BY who WITH TUMBLING(50us)
