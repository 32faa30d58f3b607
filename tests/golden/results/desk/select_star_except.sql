SELECT * EXCEPT (a, b, city) FROM calls
