SELECT who FROM calls WHERE cost >= 3 AND cost <> 9 AND NOT (city == 'Oslo' OR city = 'Bonn')
