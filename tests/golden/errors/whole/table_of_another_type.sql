CREATE TABLE rates (currency STRING, rate DOUBLE) AS VALUES ('EUR', 'much');
