"""Windows: each event once for every window it is in, then groups of SQL."""

from __future__ import annotations

from collections.abc import Sequence

from waterclock.batch.aggregates import arguments, grouped
from waterclock.batch.expressions import big, names, quoted, to_sql
from waterclock.batch.query import OPEN, Query, cell, floor, numbers, stamped
from waterclock.plan.aggregate import (
    Aggregation,
    CountAggregate,
    Distinct,
    SessionAggregate,
    SnapshotAggregate,
    TopK,
    WindowAggregate,
)
from waterclock.plan.lifetime import SessionLifetime
from waterclock.plan.nodes import Node
from waterclock.plan.window import Window
from waterclock.schema import VE, VS


def _by(keys: Sequence[str], *others: str) -> str:
    """The text of a PARTITION BY or GROUP BY: one over everything is by a constant."""
    return ", ".join([*(quoted(key) for key in keys), *others]) or "NULL"


def _same(keys: Sequence[str], one: str, other: str) -> str:
    """Equal keys, nulls too, each with an AND behind it."""
    return "".join(f"{one}.{quoted(key)} <=> {other}.{quoted(key)} AND " for key in keys)


def _values(node: Aggregation) -> list[str]:
    return [name for name, _ in node.aggregates]


# -- fixed windows -----------------------------------------------------------------------------------------


def _placed(query: Query, source: Node, window: Window, columns: str) -> str:
    """The columns of each event with ``_n``, the number of a window that it overlaps."""
    if source.points and window.size == window.hop:
        return f"SELECT {columns}, {cell(VS, window.hop, window.offset)} AS _n FROM {query.view(source)}"
    end = f"CASE WHEN {VE} = {OPEN} THEN {query.top(source)} ELSE {VE} END" if source.open_ended else VE
    first = f"{cell(f'({VS} - {big(window.size)})', window.hop, window.offset)} + 1L"
    last = cell("(_end - 1L)", window.hop, window.offset)
    bounded = f"SELECT {columns}, {first} AS _from, {end} AS _end FROM {query.view(source)}"
    counted = f"SELECT *, {last} AS _upto FROM ({bounded})"
    return f"SELECT *, {numbers('_from', '_upto')} AS _n FROM ({counted})"


def _window_life(window: Window) -> str:
    start = f"({big(window.offset % window.hop)} + _n * {big(window.hop)})"
    vs, ve = stamped(window.result, start, f"({start} + {big(window.size)})", big(window.hop))
    return f"{vs} AS {VS}, {ve} AS {VE}"


def fixed(query: Query, node: WindowAggregate) -> str:
    placed = _placed(query, node.input, node.window, f"{names(node.keys)}1{arguments(node)}")
    groups = grouped(node, f"{names(node.keys)}_n", placed, _by(node.keys, "_n"))
    revision = ", 0L AS revision" if node.early else ""
    return f"SELECT {names(node.keys)}{names(_values(node))}{_window_life(node.window)}{revision} FROM ({groups})"


# -- snapshots ---------------------------------------------------------------------------------------------


def _snapshots(query: Query, source: Node, keys: Sequence[str], columns: str) -> tuple[str, str]:
    """Two queries: the borders of each key, numbered (``_t``, the next one ``_u``, ``_i``); and the columns of each
    event once for every snapshot ``_i`` that it is alive in."""
    view = query.view(source)
    times = f"SELECT DISTINCT {names(keys)}_t FROM (SELECT {names(keys)}explode(array({VS}, {VE})) AS _t FROM {view})"
    over = f"OVER (PARTITION BY {_by(keys)} ORDER BY _t)"
    borders = f"SELECT {names(keys)}_t, lead(_t) {over} AS _u, row_number() {over} AS _i FROM ({times})"
    events = f"SELECT {columns}, {VS} AS _from, {VE} AS _to FROM {query.view(source)}"
    alive = (
        f"SELECT e.*, explode(sequence(a._i, b._i - 1)) AS _i FROM ({events}) e "
        f"JOIN ({borders}) a ON {_same(keys, 'e', 'a')}a._t = e._from "
        f"JOIN ({borders}) b ON {_same(keys, 'e', 'b')}b._t = e._to"
    )
    return borders, alive


def snapshot(query: Query, node: SnapshotAggregate) -> str:
    columns = f"{names(node.keys)}1{arguments(node)}"
    borders, alive = _snapshots(query, node.input, node.keys, columns)
    groups = grouped(node, f"{names(node.keys)}_i", alive, _by(node.keys, "_i"))
    values = names(_values(node), "g")
    vs, ve = stamped(node.result, "s._t", "s._u", "(s._u - s._t)")
    closed = "" if node.result == "window" else f" WHERE s._u < {OPEN}"
    return (
        f"SELECT {names(node.keys, 'g')}{values}{vs} AS {VS}, {ve} AS {VE} FROM ({groups}) g "
        f"JOIN ({borders}) s ON {_same(node.keys, 'g', 's')}g._i = s._i{closed}"
    )


def distinct(query: Query, node: Distinct) -> str:
    keys = node.schema.names
    borders, alive = _snapshots(query, node.input, keys, f"{names(keys)}1")
    return (
        f"SELECT {names(keys, 'g')}s._t AS {VS}, s._u AS {VE} FROM (SELECT DISTINCT {names(keys)}_i FROM ({alive})) g "
        f"JOIN ({borders}) s ON {_same(keys, 'g', 's')}g._i = s._i"
    )


def top_k(query: Query, node: TopK) -> str:
    """Events without a value are not ranked, but their starts and ends do cut snapshots."""
    payload = node.input.schema.names
    columns = f"{names(payload)}{to_sql(node.by, node.input.schema)} AS _by"
    rank = f", CAST(r._rank AS bigint) AS {quoted(node.rank)}" if node.rank else ""
    if node.window is not None:
        placed = _placed(query, node.input, node.window, columns)
        ranked = _ranked(node, placed, "_n")
        return (
            f"SELECT {names(payload, 'r')}{_window_life(node.window)}{rank} FROM ({ranked}) r WHERE _rank <= {node.k}"
        )
    borders, alive = _snapshots(query, node.input, node.keys, columns)
    return (
        f"SELECT {names(payload, 'r')}s._t AS {VS}, s._u AS {VE}{rank} FROM ({_ranked(node, alive, '_i')}) r "
        f"JOIN ({borders}) s ON {_same(node.keys, 'r', 's')}r._i = s._i WHERE r._rank <= {node.k}"
    )


def _ranked(node: TopK, rows: str, window: str) -> str:
    order = f"PARTITION BY {_by(node.keys, window)} ORDER BY _by {'DESC' if node.descending else 'ASC'}"
    return f"SELECT *, rank() OVER ({order}) AS _rank FROM ({rows}) WHERE _by IS NOT NULL"


# -- sessions ----------------------------------------------------------------------------------------------


def _sessions(query: Query, node: SessionAggregate | SessionLifetime, columns: str) -> str:
    """The columns of each event with its ``_start`` and, of its session, ``_chain`` and ``_cut``.

    A chain is events less than the timeout apart. A maximum cuts it where its first check point is, and then at every
    multiple: so the multiple below an event tells its session (a first one has none).
    """
    keys = node.keys
    order = f"PARTITION BY {_by(keys)} ORDER BY {VS}"
    gap = f"IF({VS} - lag({VS}) OVER ({order}) < {big(node.timeout)}, 0, 1) AS _new"
    marked = f"SELECT *, {gap} FROM {query.view(node.input)}"
    sums = f"sum(_new) OVER ({order}) AS _chain"  # the same for events that start together
    chains = f"SELECT *, {sums} FROM ({marked})"
    if node.maximum is None:
        return f"SELECT {columns}, {VS} AS _start, _chain, NULL AS _cut FROM ({chains})"
    first = f"min({VS}) OVER (PARTITION BY {_by(keys, '_chain')})"
    firsts = f"SELECT *, {first} AS _first FROM ({chains})"
    whole = floor("_first", node.maximum, 0)
    point = f"{whole} + IF({whole} = _first, {big(node.maximum)}, {big(2 * node.maximum)})"
    cut = f"CASE WHEN {VS} >= _point THEN {floor(VS, node.maximum, 0)} END"
    points = f"SELECT *, {point} AS _point FROM ({firsts})"
    return f"SELECT {columns}, {VS} AS _start, _chain, _point, {cut} AS _cut FROM ({points})"


def _session_end(node: SessionAggregate | SessionLifetime, last: str, point: str) -> str:
    end = f"{last} + {big(node.timeout)}"
    if node.maximum is None:
        return f"({end})"
    return f"least({end}, coalesce(_cut + {big(node.maximum)}, {point}))"


def session(query: Query, node: SessionAggregate) -> str:
    rows = _sessions(query, node, f"{names(node.keys)}1{arguments(node)}")
    end = _session_end(node, "max(_start)", "min(_point)")
    columns = f"{names(node.keys)}min(_start) AS _a, {end} AS _b"
    groups = grouped(node, columns, rows, _by(node.keys, "_chain", "_cut"))
    vs, ve = stamped(node.result, "_a", "_b", "(_b - _a)")
    values = names(_values(node))
    return f"SELECT {names(node.keys)}{values}{vs} AS {VS}, {ve} AS {VE} FROM ({groups})"


def session_lifetime(query: Query, node: SessionLifetime) -> str:
    payload = node.schema.names
    rows = _sessions(query, node, f"{names(payload)}1")
    last = f"max(_start) OVER (PARTITION BY {_by(node.keys, '_chain', '_cut')})"
    return f"SELECT {names(payload)}_start AS {VS}, {_session_end(node, last, '_point')} AS {VE} FROM ({rows})"


# -- counts ------------------------------------------------------------------------------------------------


def count(query: Query, node: CountAggregate) -> str:
    """Window ``i`` ends with the ``i``-th start of a key. An event is in those from its own start's to the ``n - 1``-th
    behind the last start before its end."""
    keys = node.keys
    each = (
        f"SELECT {names(keys)}inline(array(named_struct('_at', {VS}, '_s', 1L), named_struct('_at', {VE}, '_s', 0L)))"
    )
    times = (
        f"SELECT {names(keys)}_at AS _t, max(_s) AS _is FROM ({each} FROM {query.view(node.input)}) "
        f"GROUP BY {_by(keys, '_at')}"
    )
    over = f"OVER (PARTITION BY {_by(keys)} ORDER BY _t ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    counted = f"SELECT {names(keys)}_t, _is, sum(_is) {over} AS _i FROM ({times})"
    whole = f"OVER (PARTITION BY {_by(keys)})"
    borders = f"SELECT *, max(_i) {whole} AS _most FROM ({counted})"
    starts = (
        f"SELECT {names(keys)}_t, _i, lag(_t, {node.n - 1}) OVER (PARTITION BY {_by(keys)} ORDER BY _t) AS _first "
        f"FROM ({counted}) WHERE _is = 1"
    )
    events = f"SELECT {names(keys)}1{arguments(node)}, {VS} AS _from, {VE} AS _to FROM {query.view(node.input)}"
    first = f"greatest(a._i, {big(node.n)})"
    last = f"least(b._i - b._is + {big(node.n - 1)}, b._most)"
    inside = (
        f"SELECT e.*, {numbers(first, last)} AS _i FROM ({events}) e "
        f"JOIN ({borders}) a ON {_same(keys, 'e', 'a')}a._t = e._from "
        f"JOIN ({borders}) b ON {_same(keys, 'e', 'b')}b._t = e._to"
    )
    groups = grouped(node, f"{names(keys)}_i", inside, _by(keys, "_i"))
    values = names(_values(node), "g")
    vs, ve = stamped(node.result, "s._first", "(s._t + 1L)", "(s._t + 1L - s._first)")
    return (
        f"SELECT {names(keys, 'g')}{values}{vs} AS {VS}, {ve} AS {VE} FROM ({groups}) g "
        f"JOIN ({starts}) s ON {_same(keys, 'g', 's')}g._i = s._i"
    )


RULES = {
    WindowAggregate: fixed,
    SnapshotAggregate: snapshot,
    Distinct: distinct,
    TopK: top_k,
    SessionAggregate: session,
    SessionLifetime: session_lifetime,
    CountAggregate: count,
}
