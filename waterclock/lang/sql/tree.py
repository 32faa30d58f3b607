"""What the parser makes of a program. Every node knows its place; two nodes are equal if they say the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

from waterclock.lang.sql.source import Span


@dataclass(frozen=True, kw_only=True)
class Tree:
    span: Span = field(compare=False)


# -- expressions -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Name(Tree):
    """A column, ``column`` or ``relation.column``."""

    parts: tuple[str, ...]

    @property
    def last(self) -> str:
        return self.parts[-1]


@dataclass(frozen=True)
class Star(Tree):
    """``*`` or ``relation.*``, perhaps without some columns."""

    relation: str | None
    without: tuple[Word, ...] = ()


@dataclass(frozen=True)
class Value(Tree):
    value: Any
    type: str


@dataclass(frozen=True)
class Length(Tree):
    """A duration, in microseconds."""

    micros: int


@dataclass(frozen=True)
class Parameter(Tree):
    name: str


@dataclass(frozen=True)
class Operator(Tree):
    """``function`` is the entry of the table of functions, ``symbol`` what was written."""

    function: str
    symbol: str
    args: tuple[Expression, ...]


@dataclass(frozen=True)
class Like(Tree):
    arg: Expression
    pattern: Expression


@dataclass(frozen=True)
class Conversion(Tree):
    arg: Expression
    to: Word


@dataclass(frozen=True)
class Case(Tree):
    pairs: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None


@dataclass(frozen=True)
class Call(Tree):
    name: Word
    args: tuple[Expression | Star | Named, ...]
    distinct: bool = False
    where: Expression | None = None
    """``FILTER (WHERE ...)``"""
    within: Order | None = None
    """``WITHIN GROUP (ORDER BY ...)``"""


@dataclass(frozen=True)
class Named(Tree):
    """``name => value`` among arguments."""

    name: Word
    value: Expression


Expression = Name | Value | Length | Parameter | Operator | Like | Conversion | Case | Call


@dataclass(frozen=True)
class Word(Tree):
    """A name that stands by itself."""

    text: str


# -- queries -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Order(Tree):
    by: Expression
    descending: bool


@dataclass(frozen=True)
class Item(Tree):
    value: Expression | Star
    alias: Word | None


@dataclass(frozen=True)
class Windowing(Tree):
    """``WITH HOPPING(10s, 5s) OFFSET 1s RESULT AT END``, or a window function in FROM."""

    kind: Word
    args: tuple[Expression, ...]
    offset: Expression | None = None
    result: Word | None = None
    lateness: Expression | None = None


@dataclass(frozen=True)
class Relation(Tree):
    alias: Word | None


@dataclass(frozen=True)
class Moment(Tree):
    """``FOR SYSTEM_TIME AS OF ...``: a time, ``EPOCH 7 OF name`` or ``SNAPSHOT 'name'``."""

    kind: str
    value: Expression
    vertex: Word | None = None


@dataclass(frozen=True)
class Reference(Relation):
    """A stream, a table or a query by its name."""

    name: Word
    at: Moment | None = None


@dataclass(frozen=True)
class Nested(Relation):
    query: Query


@dataclass(frozen=True)
class Applied(Relation):
    """A function over a relation: ``SHIFT(s, 5s)``, ``TUMBLE(s, ts, INTERVAL '5' SECOND)``."""

    function: Word
    input: Relation
    args: tuple[Expression | Named, ...]
    partition: tuple[Name, ...] = ()


@dataclass(frozen=True)
class Joined(Relation):
    kind: Word
    """inner, left, full, semi, anti, clip, asof, asof left, cross; as a word with its place."""
    left: Relation
    right: Relation
    on: Expression | None
    using: tuple[Word, ...]
    within: Expression | None


@dataclass(frozen=True)
class Limit(Tree):
    count: Expression
    by: tuple[Name, ...] = ()


@dataclass(frozen=True)
class OnError(Tree):
    policy: str
    limit: Expression | None


@dataclass(frozen=True)
class Select(Tree):
    items: tuple[Item, ...]
    distinct: Word | None
    source: Relation
    where: Expression | None
    keys: tuple[Expression, ...]
    window: Windowing | None
    having: Expression | None
    order: tuple[Order, ...]
    limit: Limit | None
    on_error: OnError | None = None


@dataclass(frozen=True)
class Combined(Tree):
    """``UNION ALL`` or ``UNION``."""

    branches: tuple[Query, ...]
    distinct: bool


@dataclass(frozen=True)
class With(Tree):
    parts: tuple[tuple[Word, Query], ...]
    body: Query


Query = Select | Combined | With

# -- statements --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Connector(Tree):
    name: Word
    args: tuple[Expression | Named, ...]


@dataclass(frozen=True)
class Clause(Tree):
    """A clause of CREATE STREAM: what it is called, and what stands in it."""

    kind: str
    words: tuple[Word, ...] = ()
    values: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class ColumnType(Tree):
    name: Word
    type: Word


@dataclass(frozen=True)
class CreateStream(Tree):
    name: Word
    columns: tuple[ColumnType, ...]
    clauses: tuple[Clause, ...]
    source: Connector | Parameter | None


@dataclass(frozen=True)
class CreateTable(Tree):
    name: Word
    columns: tuple[ColumnType, ...]
    rows: tuple[tuple[Expression, ...], ...] | None
    source: Connector | Parameter | Value | None


@dataclass(frozen=True)
class Define(Tree):
    """``name = SELECT ...``, ``CREATE VIEW name AS SELECT ...``, or a query without a name."""

    name: Word | None
    query: Query


@dataclass(frozen=True)
class Output(Tree):
    query: Word
    name: Word | None
    sink: Connector | Parameter | None
    recovery: Connector | Parameter | None


@dataclass(frozen=True)
class SetOption(Tree):
    option: Word
    value: Expression


Statement = CreateStream | CreateTable | Define | Output | SetOption


def walk(node: object, nested: bool = False) -> Iterator[Tree]:
    """A node and everything below it; sub-queries in FROM only where they are asked for."""
    if isinstance(node, tuple):
        for part in node:
            yield from walk(part, nested)
    elif isinstance(node, Tree) and (nested or not isinstance(node, Nested)):
        yield node
        for part in fields(node):
            if part.name != "span":
                yield from walk(getattr(node, part.name), nested)


def replaced(node: Expression, rename: Callable[[Name], Expression], whole: Callable[[Tree], bool]) -> Expression:
    """An expression with other expressions for its names, except in the parts that stay whole."""

    def change(part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple(change(one) for one in part)
        if isinstance(part, Name):
            return rename(part)
        if not isinstance(part, Operator | Like | Conversion | Case | Call) or whole(part):
            return part
        return replace(part, **{f.name: change(getattr(part, f.name)) for f in fields(part) if f.name != "span"})

    found: Expression = change(node)
    return found
