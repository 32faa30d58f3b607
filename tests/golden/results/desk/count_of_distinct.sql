-- As many as sum_of_distinct counts.
SELECT COUNT(DISTINCT cost) AS n FROM calls WITH HOPPING(10us, 5us);
