OUTPUT recent TO jsonl()
