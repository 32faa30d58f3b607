SELECT n & 1 AS odd FROM clicks
