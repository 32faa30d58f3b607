-- What to write for SUM(DISTINCT cost).
each = SELECT cost FROM calls GROUP BY cost WITH HOPPING(10us, 5us);
SELECT SUM(cost) AS total, COUNT(cost) AS n FROM each WITH SNAPSHOT;
