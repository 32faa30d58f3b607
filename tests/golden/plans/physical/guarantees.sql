per_page = SELECT page, COUNT(*) AS n FROM clicks GROUP BY page WITH TUMBLING(1m);
OUTPUT per_page AS kept;
OUTPUT per_page AS lines TO jsonl('lines.jsonl');
OUTPUT per_page AS files TO parquet('files');
OUTPUT per_page AS seen TO console();
