"""``make golden``: writes every golden file anew. Read the difference before you commit it."""

import os

from tests.golden.harness import cases, made, name_of

for case in cases():
    os.chdir(case.parent)
    golden, text = case.with_suffix(".out"), made(case)
    before = golden.read_text() if golden.exists() else None
    if text != before:
        golden.write_text(text)
        print("new" if before is None else "changed", name_of(case))
