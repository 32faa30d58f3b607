"""``wc.diff``: what two results have in common is left out, the rest is what they differ in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from waterclock.compare.logical import ID, N, paired, surplus
from waterclock.errors import ConfigError
from waterclock.results import Advance, Result, alive, between, check_column, ignore, is_untyped, result_of
from waterclock.schema import TYPES, VE, VS
from waterclock.time import FOREVER, Instant, floor_to, show_instant
from waterclock.timeline import extent, step_for

KINDS = ("only_a", "only_b", "changed")
BUCKETS = 60


@dataclass(frozen=True, repr=False, eq=False)
class Diff:
    """How two results differ: at every instant, so how their lifetimes are cut does not matter."""

    a: str
    b: str
    rows: tuple[int, int]
    """Of each side, in the compared time."""
    on: tuple[str, ...]
    only_a: pl.DataFrame
    """Rows that only the first has, ``_n`` times in ``[_vs, _ve)``."""
    only_b: pl.DataFrame
    changed: pl.DataFrame
    """With keys (``on``): rows with equal keys at the same time; ``a.x`` and ``b.x`` are what ``x`` was and is."""
    notes: tuple[str, ...] = ()
    """What to know before believing it."""

    @property
    def equal(self) -> bool:
        """At every instant both have the same rows."""
        return not any(frame.height for frame in self.frames().values())

    def frames(self) -> dict[str, pl.DataFrame]:
        """By kind."""
        return {kind: getattr(self, kind) for kind in KINDS}

    def counts(self) -> dict[str, int]:
        """The number of rows of each kind."""
        return {kind: int(frame[N].sum()) for kind, frame in self.frames().items()}

    def columns(self) -> dict[str, int]:
        """In how many of the changed rows each column differs."""
        values = [name.removeprefix("a.") for name in self.changed.columns if name.startswith("a.")]
        values = [name for name in values if f"b.{name}" in self.changed.columns]
        found = {name: self.changed.filter(differs(name))[N].sum() for name in values}
        return {name: int(number) for name, number in found.items() if number}

    def over_time(self, most: int = BUCKETS) -> pl.DataFrame:
        """How many differences there are in each of up to ``most`` stretches of time, by kind."""
        frames = self.frames()
        bounds = extent(pl.concat([frame.select(VS, VE) for frame in frames.values()]))
        if bounds is None:
            return pl.DataFrame(schema={VS: pl.Int64(), VE: pl.Int64(), **dict.fromkeys(KINDS, pl.Int64())})
        first, last = bounds
        step = step_for(last - first, most)
        low = floor_to(first, step)
        size = (last - 1 - low) // step + 1
        starts = low + step * np.arange(size)
        counts = {kind: _alive(frame, low, last, step, size) for kind, frame in frames.items()}
        return pl.DataFrame({VS: starts, VE: starts + step, **counts})

    def __repr__(self) -> str:
        from waterclock.compare.text import text

        return text(self)

    def _repr_html_(self) -> str:
        from waterclock.compare.html import body

        return body(self)


def diff(
    a: Any, b: Any, on: str | Sequence[str] = (), *, columns: Sequence[str] | None = None,
    start: Instant | None = None, end: Instant | None = None, digits: int | None = None,
) -> Diff:  # fmt: skip
    """Compares two results.

    They are frames with lifetimes, stored streams (``app.read('name')``), or places as the command takes them
    (``'./store:totals'``, ``'totals.jsonl'``, a directory of Parquet files).

    ``on`` names key columns: rows with equal keys at the same time count as changed. ``columns`` compares only these.
    ``start`` and ``end`` compare only what is alive then. ``digits`` rounds doubles before they are compared.
    """
    low, high = between(start, end)
    return compared(*read_both(a, b, low, high), on, columns, digits, low, high)


def read_both(a: Any, b: Any, start: int | None, end: int | None, advance: Advance = ignore) -> tuple[Result, Result]:
    """JSON lines do not tell all types, so they are read like the other side."""
    if is_untyped(a) and not is_untyped(b):
        right = result_of(b, start, end, name="b", advance=advance)
        return result_of(a, start, end, name="a", advance=advance, like=right.columns), right
    left = result_of(a, start, end, name="a", advance=advance)
    like = None if is_untyped(a) else left.columns
    return left, result_of(b, start, end, name="b", advance=advance, like=like)


def compared(
    a: Result, b: Result, on: str | Sequence[str] = (), columns: Sequence[str] | None = None,
    digits: int | None = None, start: int | None = None, end: int | None = None,
) -> Diff:  # fmt: skip
    """What is alive in ``[start, end)`` of both."""
    keys = [on] if isinstance(on, str) else list(dict.fromkeys(on))
    kinds = _common(a, b, columns)
    for key in keys:
        check_column(key, list(kinds), "what is compared")
    names = [*keys, *(name for name in kinds if name not in keys)]
    left, right = (_prepared(side.rows, kinds, digits, start, end) for side in (a, b))
    found = surplus(left, right, names)
    payloads, pieces = found.payloads, found.pieces
    changed = pl.DataFrame(schema={name: pl.Int64() for name in ("a", "b", VS, VE, N)})
    if keys:
        pieces, changed = paired(found, keys)
    return Diff(
        a.name, b.name, (left.height, right.height), tuple(keys),
        _rows(payloads, pieces.filter(pl.col(N) > 0)),
        _rows(payloads, pieces.filter(pl.col(N) < 0).with_columns(-pl.col(N))),
        _changes(payloads, changed, keys),
        tuple(dict.fromkeys(_notes(a, b, end, digits))),
    )  # fmt: skip


def differs(name: str) -> pl.Expr:
    return pl.col(f"a.{name}").ne_missing(pl.col(f"b.{name}"))


def _common(a: Result, b: Result, chosen: Sequence[str] | None) -> dict[str, pl.DataType]:
    """The columns that are compared: all, which both must have alike, or the chosen ones."""
    left, right = _typed(a.columns, b.columns), _typed(b.columns, a.columns)
    if chosen is not None:
        for side, columns in ((a, left), (b, right)):
            for name in chosen:
                check_column(name, list(columns), side.name)
        left, right = ({name: columns[name] for name in chosen} for columns in (left, right))
    unlike = [f"{name} only in {a.name}" for name in left if name not in right]
    unlike += [f"{name} only in {b.name}" for name in right if name not in left]
    other = {name: right[name] for name, kind in left.items() if right.get(name, kind) != kind}
    unlike += [f"{name} is {_called(left[name])} and {_called(kind)}" for name, kind in other.items()]
    if unlike:
        alike = [name for name, kind in left.items() if right.get(name) == kind]
        fix = (
            f"Compare what both have: --columns {','.join(alike)} (in Python: columns={alike})."
            if alike
            else "They have no column in common: compare other results."
        )
        raise ConfigError("RESULT.UNLIKE", a=a.name, b=b.name, unlike="; ".join(unlike), fix=fix)
    if not left:
        raise ConfigError("SCHEMA.EMPTY", where=a.name)
    for name in left:
        if name in (N, ID):
            raise ConfigError("SCHEMA.RESERVED_COLUMN", column=name)
    return left


def _called(kind: pl.DataType) -> str:
    """As declarations call it."""
    return next((name for name, known in TYPES.items() if known == kind), str(kind))


def _typed(columns: Mapping[str, pl.DataType], other: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
    """A column of nulls alone, as from JSON, has the type that the other side says."""
    return {name: other.get(name, kind) if kind == pl.Null else kind for name, kind in columns.items()}


def _prepared(
    rows: pl.DataFrame, kinds: Mapping[str, pl.DataType], digits: int | None, start: int | None, end: int | None
) -> pl.DataFrame:
    """The compared columns, with lifetimes cut to the compared time."""
    inside = alive(rows, start, end)
    values = [pl.col(name).cast(kind) for name, kind in kinds.items()]
    chosen = inside.select(pl.col(VS).clip(lower_bound=start), pl.col(VE).clip(upper_bound=end), *values)
    return chosen if digits is None else chosen.with_columns(pl.selectors.float().round_sig_figs(digits))


def _rows(payloads: pl.DataFrame, pieces: pl.DataFrame) -> pl.DataFrame:
    ordered = pieces.sort(VS, VE, ID)
    return pl.concat([ordered.select(VS, VE, N), payloads[ordered[ID]]], how="horizontal")


def _changes(payloads: pl.DataFrame, changed: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    ordered = changed.sort(VS, VE, "a", "b")
    sides = [payloads.select(pl.exclude(keys).name.prefix(f"{side}."))[ordered[side]] for side in ("a", "b")]
    known = payloads.select(keys)[ordered["a"]]
    both = [side.to_series(at) for at in range(payloads.width - len(keys)) for side in sides]
    return pl.concat([ordered.select(VS, VE, N), known, pl.DataFrame(both)], how="horizontal")


def _notes(a: Result, b: Result, end: int | None, digits: int | None) -> list[str]:
    found: list[str] = []
    for side in (a, b):
        if side.cti is not None and side.cti < (FOREVER if end is None else end):
            upto = show_instant(side.cti)
            found.append(f"{side.name} is complete up to its CTI, {upto}: what is alive later may still come")
        found += side.notes
    if digits is not None:
        found.append(f"doubles were rounded to {digits} digits")
    return found


def _alive(frame: pl.DataFrame, low: int, last: int, step: int, size: int) -> np.ndarray:
    """Of each stretch of time, how many rows are alive in it."""
    n = frame[N].to_numpy()
    since = (np.clip(frame[VS].to_numpy(), low, last - 1) - low) // step
    until = (np.clip(frame[VE].to_numpy(), low + 1, last) - 1 - low) // step + 1
    steps = np.bincount(since, n, size + 1) - np.bincount(until, n, size + 1)
    found: np.ndarray = np.cumsum(steps)[:size].astype(np.int64)
    return found
