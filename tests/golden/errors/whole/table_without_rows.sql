CREATE TABLE rates (currency STRING, rate DOUBLE);
