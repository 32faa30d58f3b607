-- Revenue per shop and minute; orders may come five seconds late, later ones are kept aside.
CREATE STREAM orders (shop STRING, amount DOUBLE, ts TIMESTAMP)
  POINT AT ts
  WATERMARK ts - 5s IDLE AFTER 1m
  LATE DIVERT;

revenue =
SELECT shop, COUNT(*) AS orders, SUM(amount) AS revenue
FROM orders
WHERE amount > 0
GROUP BY shop
WITH TUMBLING(1m);

OUTPUT revenue TO jsonl('revenue.jsonl');
