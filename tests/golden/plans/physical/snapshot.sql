SELECT city, COUNT(*) AS alive FROM visits GROUP BY city WITH SNAPSHOT;
