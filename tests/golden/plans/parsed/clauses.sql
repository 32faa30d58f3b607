SET name = 'clauses';
SET tasks = 4;

CREATE STREAM clicks (who STRING, page STRING, ms DOUBLE, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
  LATE TO missed BAD SKIP AHEAD QUARANTINE MAX AHEAD NONE MAX JUMP 1d RETAIN 7d
  FROM files('in/*.csv', watch => true);

CREATE TABLE cities (city STRING, people BIGINT) AS VALUES ('Rome', 2800000), ('Graz', NULL);

best =
WITH busy AS (SELECT who, COUNT(*) AS n FROM clicks WHERE page LIKE 'a%' GROUP BY who WITH HOPPING(10s, 5s) OFFSET 1s RESULT AT END HAVING COUNT(*) > 3)
SELECT DISTINCT c.*, busy.n + 1 AS more, CASE WHEN busy.n BETWEEN 2 AND 5 THEN 'some' ELSE 'many' END AS size
FROM clicks AS c LEFT OUTER JOIN busy ON c.who = busy.who AND NOT (c.ms IS NULL OR c.ms IN (1, 2))
WHERE CAST(c.ms AS INT) > -1 AND c.page IS DISTINCT FROM 'x'
ORDER BY more DESC
LIMIT 3 BY who;

both = SELECT who FROM missed UNION ALL SELECT who FROM (SELECT who FROM SHIFT(clicks, 5s)) AS later;
OUTPUT best AS chosen TO jsonl('best.jsonl');
OUTPUT both;
