"""Golden files: cases in text that a person can review, and what the system makes of each.

    tests/golden/<kind>/<set>/prelude.sql    run before each case of the set, if it is there
    tests/golden/<kind>/<set>/rows.txt       what is pushed into the streams: ``stream {"column": value}`` per line
    tests/golden/<kind>/<set>/<case>.sql     the case ...
    tests/golden/<kind>/<set>/<case>.out     ... and its golden text

The folder names the kind of case, and KINDS says how a kind makes its text. ``make golden`` writes all of them anew.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

import waterclock as wc
from tests.conftest import SPARK
from waterclock.connect.rows import to_frame
from waterclock.lang.sql.format import formatted
from waterclock.lang.sql.source import Source
from waterclock.programs import load
from waterclock.reference import Event, bag_difference, evaluate
from waterclock.schema import VE, VS
from waterclock.streams.border import EVER
from waterclock.streams.segment import with_lifetime
from waterclock.time import FOREVER

ROOT = Path(__file__).parent


def cases(*kinds: str) -> list[Path]:
    return sorted(path for kind in kinds or KINDS for path in (ROOT / kind).glob("*/*.sql") if path.stem != "prelude")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT).with_suffix(""))


def made(path: Path) -> str:
    """What the system makes of a case now."""
    return KINDS[path.relative_to(ROOT).parts[0]](path)


# -- programs ------------------------------------------------------------------------------------------------


def loaded(path: Path, store: str) -> wc.App:
    """The app of a case; behind a prelude, a query without a name becomes the output ``out``."""
    prelude = path.parent / "prelude.sql"
    if not prelude.exists():
        return wc.sql(path, store=store, master="local[2]", spark=SPARK)
    app = wc.App("golden", store, master="local[2]", spark=SPARK)
    app.sql(prelude)
    result = app.sql(path)
    if not app._outputs:
        result.into("out")
    return app


def rows_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in (path.parent / "rows.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            stream, row = line.split(maxsplit=1)
            found.setdefault(stream, []).append(json.loads(row))
    return found


def fed(app: wc.App, path: Path) -> None:
    rows = rows_of(path)
    for name in (name for name, (_, source) in app._streams.items() if source is None):
        app.source(name).push(rows.get(name, []))
        app.source(name).end()


def events(frame: pl.DataFrame) -> list[Event]:
    return [(row.pop(VS), row.pop(VE), row) for row in frame.iter_rows(named=True)]


def by_definition(app: wc.App, path: Path) -> dict[str, list[Event]]:
    """What each output is by the definitions alone."""
    rows, inputs, seen = rows_of(path), {}, {}
    for name, (declaration, _) in app._streams.items():
        frame, _ = to_frame(rows.get(name, []), declaration)
        inputs[name] = events(with_lifetime(frame.lazy(), declaration).collect())
        if inputs[name]:
            seen[name] = max(vs for vs, _, _ in inputs[name]) - (declaration.slack or 0)
    for name, (_, table) in app._tables.items():
        inputs[name] = [(EVER, FOREVER, row) for row in table.iter_rows(named=True)]
    return {name: evaluate(plan.root, inputs, seen) for name, (plan, _) in app._outputs.items()}


def shown(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return "null" if value is None else str(value)


def result(path: Path) -> str:
    """The columns and events of each output, run in this process; the reference must say the same."""
    with tempfile.TemporaryDirectory() as store:
        app = loaded(path, store)
        fed(app, path)
        handle = app.run(mode="offline")
        parts = []
        for name, expected in by_definition(app, path).items():
            found = events(handle.frame(name))
            difference = bag_difference(found, expected)
            assert not difference, f"{name} differs from the reference:\n{difference}"
            lines = [
                f"[{vs}, {'∞' if ve == FOREVER else ve}) " + ", ".join(f"{k}={shown(v)}" for k, v in row.items())
                for vs, ve, row in found
            ]
            schema = app._outputs[name][0].root.schema
            parts.append("\n".join([f"{name} ({schema})", *sorted(lines, key=_by_time)]))
        return "\n\n".join(parts) + "\n"


def _by_time(line: str) -> tuple[int, int, str]:
    start, end = line[1 : line.index(")")].split(", ")
    return int(start), FOREVER if end == "∞" else int(end), line


def errors(path: Path) -> str:
    """Every error of a program, as it is printed."""
    app = wc.App("golden", "unused")
    prelude = path.parent / "prelude.sql"
    if prelude.exists():
        app.sql(prelude)
    slacks = {name: declaration.waits for name, (declaration, _) in app._streams.items()}
    source = Source(path.read_text(), path.name)
    found = load(app, source, {}, app._named(), slacks, whole=not prelude.exists()).errors
    assert found, f"{path} has no error"
    return "\n\n".join(str(error) for error in found) + "\n"


def layout(path: Path) -> str:
    """A program as it is laid out; laying it out again changes nothing."""
    text = formatted(Source(path.read_text(), path.name))
    assert formatted(Source(text)) == text
    return text


def plan(path: Path) -> str:
    """A program explained; the set is the stage. Costs are left to other tests: their constants change."""
    return f"{loaded(path, 'unused').explain(path.parent.name)}\n"


KINDS: dict[str, Callable[[Path], str]] = {"results": result, "errors": errors, "fmt": layout, "plans": plan}
