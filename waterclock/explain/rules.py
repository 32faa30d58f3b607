"""What the declarations of streams and sinks promise, in words."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from waterclock.explain.program import Described
from waterclock.streams import Declaration
from waterclock.time import spoken

_LATE = {
    "fail": "the app fails",
    "drop": "dropped and counted",
    "adjust": "moved up to the CTI; dropped where nothing is left, and counted",
}
_BAD = {"fail": "the app fails", "skip": "left out and counted"}
_GUARANTEES = {
    "transactional": "every epoch is taken whole and once",
    "idempotent": "an epoch that is given again after a crash changes nothing: exactly once",
    "at least once": "an epoch may be given again after a crash, with the same number and the same rows",
}


def lifetime(declaration: Declaration) -> str:
    if declaration.static:
        return "valid for ever"
    if declaration.points:
        return f"points at {declaration.time}"
    if declaration.end is not None:
        return f"from {declaration.time} to {declaration.end} (null: for ever)"
    return f"from {declaration.time} for {spoken(declaration.duration)}"


def time(declaration: Declaration) -> str:
    """How the stream's time advances."""
    behind = "" if not declaration.slack else f"{spoken(declaration.slack)} behind "
    if declaration.cti is not None:
        return f"moved by the CTIs in column {declaration.cti}"
    if declaration.time_from is not None:
        return f"{behind or 'together with '}the time of {declaration.time_from}"
    if declaration.slack is None:
        return "moved by advance() alone"
    return f"{behind or 'up to '}the greatest {declaration.time} so far"


def idle(declaration: Declaration) -> str:
    """When the last window closes."""
    if declaration.idle is not None:
        return f"after {spoken(declaration.idle)} without input it goes on by the clock"
    follows = declaration.cti is not None or declaration.time_from is not None or declaration.slack is None
    stands = "" if follows else "it stands still without input, and "
    return f"{stands}the last window closes when the stream ends"


def late(declaration: Declaration) -> str:
    return _LATE.get(declaration.late, f"to the stream {declaration.late_stream}")


def bad(declaration: Declaration) -> str:
    return _BAD.get(declaration.on_bad, f"to the stream {declaration.bad_stream}")


def ahead(declaration: Declaration) -> str | None:
    """What happens to rows that are not believed; None where all are."""
    limits = []
    if declaration.max_ahead is not None:
        limits.append(f"more than {spoken(declaration.max_ahead)} ahead of the clock")
    if declaration.max_jump is not None:
        limits.append(f"more than {spoken(declaration.max_jump)} after all before them")
    if not limits:
        return None
    then = "the app fails" if declaration.ahead == "fail" else f"to the stream {declaration.quarantine_stream}"
    return f"{' or '.join(limits)}: {then}"


def guarantee(name: str, sink: Any) -> str:
    if sink is None:
        return f"exactly once, as the stream {name} of the store; it has no sink"
    return f"{sink.guarantee}: {_GUARANTEES.get(sink.guarantee, 'as the sink says')}"


def connector(end: Any) -> str:
    """A source or a sink: its name and what it reads or writes."""
    module = type(end).__module__
    name = module.rpartition(".")[2] if module.startswith("waterclock.connect.") else type(end).__name__
    what = getattr(end, "target", None) or getattr(end, "pattern", None)
    return f"{name}({_near(what)!r})" if isinstance(what, str) else name


def _near(path: str) -> str:
    here = os.getcwd() + os.sep
    return path.removeprefix(here)


def input_lines(program: Described, name: str, output: str) -> Iterator[str]:
    """The rules of a stream that the plan of an output reads, a line each."""
    if name == output:
        yield f"back edge {name}: its own result, one epoch later; a snapshot holds what is on the way"
        return
    if name in program.tables:
        yield f"table {name}: {program.tables[name][1]:,} rows, valid for ever"
        return
    if name not in program.streams:
        origin = name.rpartition(".")[0]
        what = f"what was set aside of {origin}" if origin in program.streams else "an output"
        yield f"stream {name}: {what}, with the time of its origin"
        return
    declaration, _ = program.streams[name]
    yield f"stream {name}: {lifetime(declaration)}"
    yield f"  time: {time(declaration)}; {idle(declaration)}"
    yield f"  late rows: {late(declaration)}"
