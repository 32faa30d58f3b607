OUTPUT recent TO 'x.jsonl'
