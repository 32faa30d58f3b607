CREATE STREAM clicks (user STRING, page STRING, ms DOUBLE, n INT, ts TIMESTAMP)
  POINT AT ts
  WATERMARK ts - 2s;

CREATE STREAM sessions (user STRING, device STRING, started TIMESTAMP, ended TIMESTAMP, vip BOOLEAN)
  LIFETIME (started, ended)
  WATERMARK started;

CREATE TABLE rates (currency STRING, rate DOUBLE) AS VALUES ('EUR', 1.1);

CREATE VIEW recent AS SELECT user, page FROM SET_DURATION(clicks, 5m);
