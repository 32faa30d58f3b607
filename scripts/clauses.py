"""Writes the reference of clauses, ``docs/clauses.md``, from the table in waterclock/lang/sql/clauses.py.

python scripts/clauses.py            runs every example and writes the page
python scripts/clauses.py --check    fails if it is not as it would be written; what the examples give is for tests/docs
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from waterclock.lang.sql.clauses import REFERENCE, SINKS, SOURCES, Clause, Group  # noqa: E402
from waterclock.lang.sql.format import formatted  # noqa: E402
from waterclock.lang.sql.source import Source  # noqa: E402
from waterclock.programs import SINKS as KNOWN_SINKS  # noqa: E402
from waterclock.programs import SOURCES as KNOWN_SOURCES  # noqa: E402

PAGE = ROOT / "docs" / "clauses.md"
STREAMS = """CREATE STREAM calls (who STRING, city STRING, cost INT, a BIGINT, b BIGINT)
  LIFETIME (a, b)
  WATERMARK a - 1h;

CREATE STREAM clicks (who STRING, page STRING, t BIGINT)
  POINT AT t
  WATERMARK t - 1h;

CREATE TABLE cities (city STRING, country STRING) AS VALUES ('Rome', 'IT'), ('Oslo', 'NO');
"""
SETTING = '''import json
import tempfile
from pathlib import Path

import waterclock as wc

CALLS = [("ann", "Rome", 3, 2, 13), ("bob", "Oslo", 5, 7, 10), ("ann", "Oslo", 2, 12, 20)]
CLICKS = [("ann", "home", 1), ("ann", "cart", 4), ("bob", "home", 8)]
VISITS = [("ann", 1, 9), ("bob", 20, 30), ("cid", 5, 25)]
FILES = {
    "visits": VISITS,
    "broken": [*VISITS, ("dan", None, 40)],
    "future": [*VISITS, ("eve", 2**52, 2**52 + 1)],  # in the year 2112
    "part-1": VISITS[:2],
    "part-2": VISITS[2:],
}
for name, rows in FILES.items():
    lines = [json.dumps({"who": who, "t": t, "until": until}) for who, t, until in rows]
    Path(f"{name}.jsonl").write_text("\\n".join(lines) + "\\n")


@wc.function(returns="int", per_row=True)
def halved(cost):
    if cost % 2:
        raise ValueError(f"{cost} is odd")
    return cost // 2


def sql(text):
    """Runs statements over the streams above, and prints what the last query gives, or the outputs."""
    store = tempfile.mkdtemp()
    whole = "OUTPUT " in text
    if whole:
        app = wc.sql(Path("streams.sql").read_text() + text, store=store)
    else:
        app = wc.App("page", store=store)
        app.sql("streams.sql")
        app.sql(text).into("out")
    app.source("calls").push([dict(zip(("who", "city", "cost", "a", "b"), row)) for row in CALLS])
    app.source("clicks").push([dict(zip(("who", "page", "t"), row)) for row in CLICKS])
    app.source("calls").end()
    app.source("clicks").end()
    handle = app.run(mode="offline")
    for vertex in handle.status().vertices:
        rows = handle.frame(vertex.name)
        for row in rows.sort("_vs", "_ve", *rows.columns[2:]).iter_rows(named=True):
            end = row.pop("_ve")
            print(f"[{row.pop('_vs')}, {'∞' if end == 2**63 - 1 else end})", *(f"{k}={v}" for k, v in row.items()))
'''
INTRODUCTION = f"""# Clauses

The reference of the language: everything that the parser knows, written from its tables by `scripts/clauses.py`. [sql.md](sql.md) is the way in,
[functions.md](functions.md) the reference of functions.

In a syntax, `[...]` may be left out, `|` separates choices, and `...` means any number. The examples use the streams below; what follows each is
what it gives: an interval, then the columns. Times are microseconds.

```sql file=streams.sql
{STREAMS.rstrip()}
```

```python
{SETTING.rstrip()}
```
"""


def connectors() -> dict[str, Clause]:
    """Sources and sinks, with the parameters of the functions that make them."""
    found = {}
    for name, (about, example) in SOURCES.items():
        columns = "CREATE STREAM visits (who STRING, t BIGINT, until BIGINT)"
        query = f"{columns}\n  WATERMARK t - 30us\n  {example};\n\nSELECT who, t\nFROM visits"
        found[name] = Clause(f"FROM {call(name, KNOWN_SOURCES)}", about, query)
    for name, (about, example) in SINKS.items():
        program = f"homes =\nSELECT who\nFROM clicks\nWHERE page = 'home';\n\nOUTPUT homes {example};"
        found[name] = Clause(f"TO {call(name, KNOWN_SINKS)}", about, program)
    return found


def call(name: str, known: Mapping[str, Callable[..., Any]]) -> str:
    """``files(pattern[, format => ...])``: options have the names that they have in Python."""
    shown = []
    for parameter in inspect.signature(known[name]).parameters.values():
        needed = parameter.default is parameter.empty
        shown.append(parameter.name if needed else f"[, {parameter.name} => {value(parameter.default)}]")
    return f"{name}({''.join(shown)})".replace("([, ", "([")


def value(default: object) -> str:
    return "NULL" if default is None else str(default).lower() if isinstance(default, bool) else str(default)


def groups() -> dict[str, Group]:
    about = "Options have the names that they have in Python, and their defaults. Paths are relative to the working directory."
    return {**REFERENCE, "Sources and sinks": Group(about, connectors())}


def example(name: str, clause: Clause) -> str:
    """A whole example: an option needs something to be an option of."""
    if clause.syntax.startswith("SET ") and "SELECT" not in clause.example:
        return f"{clause.example}\n\neveryone =\nSELECT DISTINCT who\nFROM clicks;\n\nOUTPUT everyone;"
    return clause.example


def heading(name: str) -> str:
    return f"{name}*" if name.endswith(".") else name


def laid_out(text: str) -> str:
    return formatted(Source(text)).rstrip("\n")


def page(run: bool) -> str:
    """With what the examples give, or without."""
    lines = [INTRODUCTION]
    space: dict[str, Any] = {"sql": lambda text: None}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Path("streams.sql").write_text(STREAMS)
            if run:
                Path("setting.py").write_text(SETTING)  # functions in a plan need their source
                exec(compile(SETTING, str(Path("setting.py").resolve()), "exec"), space)
            for title, group in groups().items():
                lines += [f"## {title}", "", group.about, ""]
                for name, clause in group.clauses.items():
                    text = laid_out(example(name, clause))
                    output = io.StringIO()
                    with contextlib.redirect_stdout(output):
                        space["sql"](text)
                    lines += [
                        f"### {heading(name)}",
                        "",
                        "```text",
                        clause.syntax,
                        "```",
                        "",
                        clause.about,
                        "",
                        "```sql",
                        text,
                        "```",
                        "",
                    ]
                    lines += ["```text output", *output.getvalue().splitlines(), "```", ""]
        finally:
            os.chdir(before)
    return "\n".join(lines)


def main() -> None:
    if "--check" in sys.argv:
        stale = not PAGE.exists() or re.sub(r"(```text output\n)[^`]*", r"\1", PAGE.read_text()) != page(run=False)
        sys.exit("docs/clauses.md is not up to date, run python scripts/clauses.py" if stale else 0)
    PAGE.write_text(page(run=True))


if __name__ == "__main__":
    main()
