"""GROUP BY: keys, the aggregates that the SELECT list asks for, and expressions over both."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from waterclock.expr.nodes import Column, Expr, col, uses_time
from waterclock.lang.sql import tree
from waterclock.lang.sql.bind.aggregates import Inside, aggregate_of, is_aggregate, type_of
from waterclock.lang.sql.bind.context import Context
from waterclock.lang.sql.bind.scalars import Scalars, Typed
from waterclock.lang.sql.bind.scope import Rows, fresh
from waterclock.lang.sql.bind.windows import Frame
from waterclock.plan import Aggregate, Node, Project

BORDERS = ("window_start", "window_end")
REVISION = Typed(col("revision"), "bigint")
"""The column that results which are given early have."""


@dataclass(frozen=True)
class Key:
    name: str
    """The column of the input that it is."""
    expr: str
    """What it was written as, in canonical form."""
    type: str


@dataclass
class Grouping:
    """Gathers what a query groups by and aggregates, while its expressions are bound."""

    context: Context
    rows: Rows
    frame: Frame
    keys: list[Key] = field(default_factory=list)
    aggregates: dict[str, tuple[str, Aggregate]] = field(default_factory=dict)
    """By its canonical form: its column, and the aggregate."""
    projected: list[tuple[str, Expr]] = field(default_factory=list)
    """Columns that the input must have in addition."""
    taken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.taken |= set(self.rows.plan.schema.names)

    def add_key(self, node: tree.Expression) -> None:
        found = Scalars(self.context, self.rows, "GROUP BY").value(node)
        form = repr(found.expr)
        if any(key.expr == form for key in self.keys):
            return
        self.keys.append(Key(self._column(found.expr, "key"), form, found.type))

    def add(self, node: tree.Call, wish: str | None) -> Typed:
        inside = Inside(self.context, self.rows, "an aggregate")
        found = aggregate_of(inside, node)
        form = repr(found)
        if form not in self.aggregates:
            kind = type_of(inside, node, found, self.rows.plan.schema)
            if found.arg is not None and uses_time(found.arg):
                found = replace(found, arg=col(self._column(found.arg, "value")))
            if found.where is not None and uses_time(found.where):
                found = replace(found, where=col(self._column(found.where, "condition")))
            keys = {key.name for key in self.keys}
            used = keys | {name for name, _ in self.aggregates.values()}
            self.aggregates[form] = (fresh(wish or node.name.text.lower(), used), found)
            return Typed(col(self.aggregates[form][0]), kind)
        name, known = self.aggregates[form]
        return Typed(col(name), type_of(inside, node, known, self._input().schema))

    def plan(self) -> Node:
        named = tuple(self.aggregates.values())
        if not named:
            named = ((fresh("events", {key.name for key in self.keys}), Aggregate("count")),)
        return self.frame.over(self._input(), tuple(key.name for key in self.keys), named)

    def _input(self) -> Node:
        if not self.projected:
            return self.rows.plan
        kept = tuple((name, col(name)) for name in self.rows.plan.schema.names)
        return Project(self.rows.plan, (*kept, *self.projected))

    def _column(self, expr: Expr, name: str) -> str:
        if isinstance(expr, Column):
            return expr.name
        made = fresh(name, self.taken)
        self.projected.append((made, expr))
        return made


class Grouped(Scalars):
    """Binds expressions over groups: keys, aggregates, and the borders of windows."""

    def __init__(self, grouping: Grouping, clause: str) -> None:
        super().__init__(grouping.context, grouping.rows, clause)
        self.grouping = grouping
        self.wish: str | None = None
        """The name that the aggregate bound next should have."""

    def bind(self, node: tree.Expression) -> Typed:
        key = None if isinstance(node, tree.Value | tree.Length | tree.Parameter) else self._key(node)
        return super().bind(node) if key is None else Typed(col(key.name), key.type)

    def name(self, node: tree.Name) -> Typed:
        if is_border(self.rows, node):
            return self._border(node, node.last.lower())
        if self.grouping.frame.early and is_revision(self.rows, node):
            return REVISION
        self.rows.resolve(self.context, node)
        raise self.context.error("SQL.NOT_GROUPED", node.span, column=".".join(node.parts))

    def aggregate(self, node: tree.Call) -> Typed:
        return self.grouping.add(node, self.wish)

    def time(self, node: tree.Call, function: str) -> Typed:
        if function in BORDERS:
            if node.args:
                raise self.wrong_arguments(node, f"{function.upper()}()")
            return self._border(node, function)
        if node.args:
            fix = f"A result stands for many events: MIN({node.name.text}(...)), or {node.name.text}() of the result."
            value = self.context.source.slice(node.span)
            raise self.context.error("SQL.WINDOW_VALUE", node.span, value=value, fix=fix)
        return super().time(node, function)

    def _border(self, node: tree.Tree, function: str) -> Typed:
        found = self.grouping.frame.border(function.removeprefix("window_"))
        if isinstance(found, str):
            raise self.context.error("SQL.WINDOW_VALUE", node.span, value=function.upper(), fix=found)
        return Typed(found, "timestamp")

    def _key(self, node: tree.Expression) -> Key | None:
        """The key that an expression is, if it is one."""
        if any(is_aggregate(part) for part in tree.walk(node)):
            return None
        if isinstance(node, tree.Name) and (is_border(self.rows, node) or is_revision(self.rows, node)):
            return None
        if not isinstance(node, tree.Name) and all(key.name == key.expr for key in self.grouping.keys):
            return None  # every key is a plain column
        if any(isinstance(part, tree.Name) and is_border(self.rows, part) for part in tree.walk(node)):
            return None
        if any(isinstance(part, tree.Call) and part.name.text.lower() in BORDERS for part in tree.walk(node)):
            return None
        form = repr(Scalars(self.context, self.rows, self.clause).bind(node).expr)
        return next((key for key in self.grouping.keys if key.expr == form), None)


def is_border(rows: Rows, node: tree.Tree) -> bool:
    """Whether a name means the window's border: it does unless there is such a column."""
    return _is_special(rows, node, BORDERS)


def is_revision(rows: Rows, node: tree.Tree) -> bool:
    return _is_special(rows, node, ("revision",))


def _is_special(rows: Rows, node: tree.Tree, names: tuple[str, ...]) -> bool:
    if not isinstance(node, tree.Name) or len(node.parts) > 1 or node.last.lower() not in names:
        return False
    return not any(column.name.lower() == node.last.lower() for seen in rows.visible for column in seen.columns)
