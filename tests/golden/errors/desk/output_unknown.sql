OUTPUT recnt TO jsonl('x.jsonl')
