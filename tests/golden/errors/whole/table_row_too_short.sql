CREATE TABLE rates (currency STRING, rate DOUBLE) AS VALUES ('EUR', 1.1), ('USD');
