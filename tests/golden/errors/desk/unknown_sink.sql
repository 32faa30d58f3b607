OUTPUT recent TO json('x.jsonl')
