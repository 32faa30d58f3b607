"""What a function's name means: a scalar function, an aggregate, or neither. Names are looked up only here."""

from __future__ import annotations

from dataclasses import dataclass

from waterclock import usercode
from waterclock.expr import user
from waterclock.expr.functions import FUNCTIONS
from waterclock.expr.user import Function
from waterclock.lang.sql.names import nearest
from waterclock.plan.aggregate import AGGREGATES
from waterclock.usercode.registry import Registered

_OPERATORS = frozenset({"is_in", "is_null", "negate", "case", "not", "and", "or", "floor_to", "ceil_to"})
"""Entries of the table that are written as operators, or take what SQL has no type for."""

AGGREGATE_NAMES: dict[str, str] = {
    **{name: name for name in AGGREGATES if name != "count_distinct"},
    "mean": "avg", "std": "stddev", "stddev_samp": "stddev", "var_samp": "variance", "first_value": "first",
    "last_value": "last", "any_value": "first", "array_agg": "collect_list", "percentile": "percentile_cont",
    "median": "percentile_cont", "count_if": "count",
}  # fmt: skip
"""Spark SQL's names of aggregates, and ours."""

TIME_FUNCTIONS = ("start", "end", "window_start", "window_end")
REWRITTEN = {
    "if": "(condition, value, otherwise)",
    "iff": "(condition, value, otherwise)",
    "nvl": "(value, otherwise)",
    "ifnull": "(value, otherwise)",
    "nullif": "(value, other)",
    "isnull": "(value)",
    "isnotnull": "(value)",
}
"""Written with other entries of the table, unless they have one of their own."""

_ELSEWHERE = {
    "now": "The answer must not depend on the clock: use START(), when the event starts.",
    "current_timestamp": "The answer must not depend on the clock: use START(), when the event starts.",
    "rand": "The answer must not depend on chance.",
    "random": "The answer must not depend on chance.",
    "uuid": "The answer must not depend on chance.",
    "row_number": "Rank with ORDER BY x DESC LIMIT 3 BY key.",
    "rank": "Rank with ORDER BY x DESC LIMIT 3 BY key.",
    "dense_rank": "Rank with ORDER BY x DESC LIMIT 3 BY key.",
    "lag": "Give each event the one before: ASOF JOIN with the stream shifted by 1us.",
    "lead": "Let each event last until the next: SET_DURATION(s, FOREVER) with a CLIP JOIN.",
    "window": "Write GROUP BY ... WITH TUMBLING(5s).",
    "tumble": "Write GROUP BY ... WITH TUMBLING(5s).",
    "hop": "Write GROUP BY ... WITH HOPPING(10s, 5s): size, then hop.",
    "session": "Write GROUP BY ... WITH SESSION(30s).",
    "session_window": "Write GROUP BY ... WITH SESSION(30s).",
    "tumble_start": "Write WINDOW_START().",
    "tumble_end": "Write WINDOW_END().",
    "hop_start": "Write WINDOW_START().",
    "hop_end": "Write WINDOW_END().",
    "unnest": "Write EXPLODE(array) AS name, alone in the SELECT list.",
    "explode": "Write EXPLODE(array) AS name, alone in the SELECT list.",
    "max_by": "ORDER BY y DESC LIMIT 1 BY key keeps the event itself.",
    "min_by": "ORDER BY y LIMIT 1 BY key keeps the event itself.",
    "string_agg": "COLLECT_LIST(x) gives an array.",
    "listagg": "COLLECT_LIST(x) gives an array.",
}


@dataclass(frozen=True)
class Scalar:
    """An entry of the table of scalar functions."""

    function: str


@dataclass(frozen=True)
class UserScalar:
    """A scalar function in Python."""

    function: Function


@dataclass(frozen=True)
class Aggregating:
    """An aggregate of the plan, or one in Python."""

    function: str
    user: Registered | None = None


@dataclass(frozen=True)
class Rewritten:
    """Known here and written with other functions."""

    function: str


@dataclass(frozen=True)
class OfTime:
    """The start or end of an event or a window."""

    function: str


Resolved = Scalar | UserScalar | Aggregating | Rewritten | OfTime


def resolve(name: str) -> Resolved | None:
    """What a name means in a program, whatever its case; None if nothing."""
    lower = name.lower()
    if lower in TIME_FUNCTIONS:
        return OfTime(lower)
    if lower in AGGREGATE_NAMES:
        return Aggregating(AGGREGATE_NAMES[lower])
    if lower in FUNCTIONS and lower not in _OPERATORS and FUNCTIONS[lower].symbol[0].isalpha():
        return Scalar(FUNCTIONS[lower].name)  # an alias is its function
    if lower in REWRITTEN:
        return Rewritten(lower)
    if (function := user.lookup(name)) is not None:
        return UserScalar(function)
    aggregate = usercode.lookup(name, "aggregate")
    return None if aggregate is None else Aggregating(aggregate.name, aggregate)


def unknown(name: str) -> str:
    """What to write instead of a function that is not there."""
    instead = _ELSEWHERE.get(name.lower())
    if instead is not None:
        return instead
    guess = nearest(name, known())
    return guess.strip() or "Scalar functions and aggregates have the names of Spark SQL; docs/sql.md lists them."


def known() -> list[str]:
    """Every name that can be called."""
    names = {*TIME_FUNCTIONS, *AGGREGATE_NAMES, *REWRITTEN, *FUNCTIONS, *usercode.names()}
    return sorted(name for name in names if resolve(name) is not None)


def takes(function: str, count: int) -> bool:
    """Whether a scalar function takes so many arguments."""
    return FUNCTIONS[function].matched(count) is not None


def usage(function: str) -> str:
    """How a scalar function is called."""
    return FUNCTIONS[function].signature
