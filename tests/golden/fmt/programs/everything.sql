-- A program.
-- Two lines.
set   name='x' ; set epoch_rows = 5;
create stream Clicks (user string, -- who
   page string, /* what */ tags array< string >, ts timestamp, watermark for ts as ts - interval '5' second) late drop max ahead none idle after 5s from files('in/*.csv', watch=>true); -- trailing
/* block
   comment */
create table rates(currency string,rate double) as values ('EUR',1.1),('USD',1.0);
a=select distinct user,-ms as neg, count(*) filter (where ms>5 and page is not null) as n, case when n>1 then 'a' else 'b' end as verylongname, cast(x as double) as y, ts::date as d
-- where does it come from
from Clicks c left outer join (select user, count(*) as n from Clicks where page like 'a%' group by user with hopping(10s,5s) result at end having count(*)>3 order by n desc limit 3 by user) s on c.user==s.user and c.ms between 1 and 2 -- why
where c.user in ('a','b') and not (c.n=1 or c.n=2) and c.page is distinct from 'x' and c.verylongcolumnname > :param + 5 and another > 7
group by user with tumbling (1h 30m) offset 5s allowed lateness 2 minutes;
b = with x as (select 1 as one from a), y as (select 2 as two from x) select * except (one) from x union all select two from y;
output a to jsonl('x'); output b;
-- the end
