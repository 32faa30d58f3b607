"""Joins by pairs of rows that overlap, and what of a lifetime the pairs cover.

Where a side is told apart row by row, equal rows are one with a count: a row has no other identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from waterclock.batch.expressions import big, names, quoted, typed
from waterclock.batch.query import Query
from waterclock.expr.functions import wider
from waterclock.plan.join import AsOf, Join
from waterclock.plan.nodes import Node
from waterclock.schema import VE, VS


@dataclass(frozen=True)
class Side:
    """One side of a join: its columns as the result names them, its keys as ``_k0``, ``_k1``, ..."""

    node: Node
    columns: tuple[tuple[str, str], ...]
    """Name here, name in the result."""
    keys: tuple[tuple[str, str], ...]
    """Name here, type shared with the other side."""
    mark: str

    @property
    def payload(self) -> list[str]:
        return [name for _, name in self.columns]

    @property
    def start(self) -> str:
        return f"_{self.mark}s"

    @property
    def end(self) -> str:
        return f"_{self.mark}e"

    def key(self, index: int) -> str:
        return f"_{self.mark}k{index}"

    def rows(self, view: str) -> str:
        columns = "".join(f"{quoted(source)} AS {quoted(name)}, " for source, name in self.columns)
        keys = "".join(f", CAST({quoted(k)} AS {t}) AS {self.key(i)}" for i, (k, t) in enumerate(self.keys))
        return f"SELECT {columns}{VS} AS {self.start}, {VE} AS {self.end}{keys} FROM {view}"

    def counted(self, view: str) -> str:
        """Every distinct row with how often it is there, ``_c``."""
        identity = ", ".join(self.identity)
        return f"SELECT {identity}, count(1) AS _c FROM ({self.rows(view)}) GROUP BY {identity}"

    @property
    def identity(self) -> list[str]:
        keys = [self.key(i) for i in range(len(self.keys))]
        return [*(quoted(name) for name in self.payload), self.start, self.end, *keys]


def _sides(node: Join | AsOf) -> tuple[Side, Side]:
    pairs = list(zip(node.left_keys, node.right_keys, strict=True))
    kinds = [wider(node.left.schema.type_of(a), node.right.schema.type_of(b)) or "" for a, b in pairs]
    left = Side(
        node.left, tuple((n, n) for n in node.left.schema.names), tuple(zip(node.left_keys, kinds, strict=True)), "l"
    )
    return left, Side(node.right, node.names, tuple(zip(node.right_keys, kinds, strict=True)), "r")


def _match(node: Join, left: Side, right: Side) -> str:
    """Equal keys (a null equals nothing) and the residual condition, all of it behind an AND."""
    conditions = [f"{left.key(i)} = {right.key(i)}" for i in range(len(left.keys))]
    if node.residual is not None:
        conditions.append(typed(node.residual, node.pair_schema, "boolean"))
    return "".join(f" AND {condition}" for condition in conditions)


OVERLAP = "_ls < _re AND _rs < _le"


def join(query: Query, node: Join) -> str:
    left, right = _sides(node)
    match = _match(node, left, right)
    if node.kind == "clip":
        return _clip(query, node, left, right, match)
    if node.kind == "semi":
        return _covered(query, left, right, match)
    if node.kind == "anti":
        return _uncovered(query, left, right, match, names(left.payload))
    parts = [_inner(query, left, right, match)]
    if node.kind in ("left", "full"):
        missing = "".join(f"CAST(NULL AS {right.node.schema.type_of(s)}) AS {quoted(n)}, " for s, n in right.columns)
        parts.append(_uncovered(query, left, right, match, names(left.payload) + missing))
    if node.kind == "full":
        missing = "".join(f"CAST(NULL AS {kind}) AS {quoted(name)}, " for name, kind in left.node.schema)
        parts.append(_uncovered(query, right, left, match, missing + names(right.payload)))
    return " UNION ALL ".join(parts)


def _inner(query: Query, left: Side, right: Side, match: str) -> str:
    return (
        f"SELECT {names(left.payload)}{names(right.payload)}greatest(_ls, _rs) AS {VS}, least(_le, _re) AS {VE} "
        f"FROM ({left.rows(query.view(left.node))}) JOIN ({right.rows(query.view(right.node))}) ON {OVERLAP}{match}"
    )


def _pairs(query: Query, one: Side, other: Side, match: str, kind: str, when: str = OVERLAP) -> str:
    """Rows of one side with the lifetimes of those that match on the other."""
    rows, others = one.counted(query.view(one.node)), other.rows(query.view(other.node))
    columns = ", ".join([*one.identity, "_c", other.start, other.end])
    return f"SELECT {columns} FROM ({rows}) {kind} ({others}) ON {when}{match}"


def _copies(columns: str, pieces: str) -> str:
    """Each piece as often as its row is there."""
    return f"SELECT {columns}{VS}, {VE} FROM (SELECT *, explode(sequence(1L, _c)) AS _copy FROM ({pieces}))"


def _covered(query: Query, one: Side, other: Side, match: str) -> str:
    identity = ", ".join(one.identity)
    pairs = _pairs(query, one, other, match, "JOIN")
    cover = f"SELECT {identity}, _c, greatest(_ls, _rs) AS _a, least(_le, _re) AS _b FROM ({pairs})"
    order = f"PARTITION BY {identity} ORDER BY _a, _b"
    before = f"max(_b) OVER ({order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    marked = f"SELECT *, IF(_a <= {before}, 0, 1) AS _new FROM ({cover})"
    numbered = f"SELECT *, sum(_new) OVER ({order}) AS _piece FROM ({marked})"
    pieces = (
        f"SELECT {identity}, _c, min(_a) AS {VS}, max(_b) AS {VE} FROM ({numbered}) GROUP BY {identity}, _c, _piece"
    )
    return _copies(names(one.payload), pieces)


def _uncovered(query: Query, one: Side, other: Side, match: str, columns: str) -> str:
    """What lies between the covers of a row: before each, and behind the last."""
    identity = ", ".join(one.identity)
    pairs = _pairs(query, one, other, match, "LEFT JOIN")
    # A row without a match is covered by nothing at its own end.
    start = f"IF({other.start} IS NULL, {one.end}, greatest({one.start}, {other.start}))"
    cover = f"SELECT {identity}, _c, {start} AS _a, least({one.end}, {other.end}) AS _b FROM ({pairs})"
    order = f"PARTITION BY {identity} ORDER BY _a, _b"
    before = f"max(_b) OVER ({order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    swept = (
        f"SELECT *, coalesce({before}, {one.start}) AS _free, lead(_a) OVER ({order}) IS NULL AS _last FROM ({cover})"
    )
    gaps = (
        f"array(named_struct('{VS}', _free, '{VE}', _a), "
        f"named_struct('{VS}', IF(_last, greatest(_free, _b), {one.end}), '{VE}', {one.end}))"
    )
    pieces = f"SELECT *, inline(filter({gaps}, _g -> _g.{VS} < _g.{VE})) FROM ({swept})"
    return _copies(columns, pieces)


def _clip(query: Query, node: Join, left: Side, right: Side, match: str) -> str:
    if node.residual is not None:
        identity = ", ".join(left.identity)
        pairs = _pairs(query, left, right, match, "LEFT JOIN", "_ls < _rs AND _rs < _le")
        life = f"_ls AS {VS}, coalesce(min(_rs), _le) AS {VE}"
        pieces = f"SELECT {identity}, _c, {life} FROM ({pairs}) GROUP BY {identity}, _c"
        return _copies(names(left.payload), pieces)
    both = _by_start(query, left, right)
    order = f"PARTITION BY {_keys(left)} ORDER BY _ls RANGE BETWEEN 1L FOLLOWING AND UNBOUNDED FOLLOWING"
    swept = f"SELECT *, min(_rs) OVER ({order}) AS _next FROM ({both})"
    return f"SELECT {names(left.payload)}_ls AS {VS}, least(_le, _next) AS {VE} FROM ({swept}) WHERE _le IS NOT NULL"


def as_of(query: Query, node: AsOf) -> str:
    left, right = _sides(node)
    order = f"PARTITION BY {_keys(left)} ORDER BY _ls RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    swept = f"SELECT *, max(_rs) OVER ({order}) AS _found FROM ({_by_start(query, left, right)})"
    lefts = f"SELECT * FROM ({swept}) WHERE _le IS NOT NULL"
    same = "".join(f" AND l.{left.key(i)} = r.{right.key(i)}" for i in range(len(left.keys)))
    within = "" if node.tolerance is None else f" AND l._ls - r._rs <= {big(node.tolerance)}"
    how = "LEFT JOIN" if node.kind == "left" else "JOIN"
    return (
        f"SELECT {names(left.payload, 'l')}{names(right.payload, 'r')}l._ls AS {VS}, l._le AS {VE} "
        f"FROM ({lefts}) l {how} ({right.rows(query.view(right.node))}) r ON l._found = r._rs{same}{within}"
    )


def _keys(left: Side) -> str:
    return ", ".join(left.key(i) for i in range(len(left.keys))) or "NULL"


def _by_start(query: Query, left: Side, right: Side) -> str:
    """The lefts, and the starts of the rights that have keys (``_rs``; no ``_le``), in the columns of the left."""
    keys = [left.key(i) for i in range(len(left.keys))]
    lefts = f"SELECT {', '.join(left.identity)}, CAST(NULL AS bigint) AS _rs FROM ({left.rows(query.view(left.node))})"
    nothing: Sequence[str] = [f"CAST(NULL AS {kind})" for _, kind in left.node.schema]
    known = " AND ".join(f"{right.key(i)} IS NOT NULL" for i in range(len(keys))) or "true"
    columns = ", ".join([*nothing, "_rs", "CAST(NULL AS bigint)", *(right.key(i) for i in range(len(keys))), "_rs"])
    rights = f"SELECT DISTINCT {columns} FROM ({right.rows(query.view(right.node))}) WHERE {known}"
    return f"{lefts} UNION ALL {rights}"


RULES = {Join: join, AsOf: as_of}
