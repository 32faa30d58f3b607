-- A null has no rank.
SELECT who, ms FROM clicks WITH TUMBLING(10us) ORDER BY ms LIMIT 9
