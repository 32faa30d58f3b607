/* the first */ /* and second */ CREATE STREAM clicks(user STRING, -- who
ts TIMESTAMP) WATERMARK ts /* two
lines */ FROM files('x'); /* behind */ CREATE STREAM visits(user STRING /* who */, ts TIMESTAMP) WATERMARK ts FROM files('y');
/* before */ a = SELECT user FROM clicks; /* one */ -- two
OUTPUT a TO jsonl('a.jsonl'); /* three */ OUTPUT b AS c; -- four
