SELECT who || '@' || city AS at, cost * 2 + 1 AS more, cost / 2 AS half, cost DIV 2 AS whole, cost % 2 AS rest, -cost AS less
FROM calls
