set name='x';set store = './store';
create view v as select * from a;
create table t(a int,b string) from 't.csv';
output v as w to parquet('out',batch_rows=>5);output v to console();
