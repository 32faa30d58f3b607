a = SELECT usr, page, ms + page AS x, lenght(page) AS n FROM clicks;
b = SELECT user, COUNT(pages) AS n, page FROM clicks GROUP BY user WITH TUMBLING(5s);
OUTPUT a;
