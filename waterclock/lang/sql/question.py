"""A query that is asked once, of what is stored: ORDER BY and LIMIT are of the rows of its answer, and what is grouped
without a window is grouped over everything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from waterclock.errors import ConfigError, SqlError
from waterclock.expr.nodes import col
from waterclock.lang.sql import tree
from waterclock.lang.sql.bind import Context, bind_query
from waterclock.lang.sql.bind.constants import count
from waterclock.lang.sql.bind.scope import fresh
from waterclock.lang.sql.given import Given
from waterclock.lang.sql.names import listed, nearest
from waterclock.lang.sql.parse import parse
from waterclock.lang.sql.source import Source
from waterclock.plan import Aggregate, Filter, Node, Project, WindowAggregate
from waterclock.plan.window import WHOLE
from waterclock.schema import VE, VS

_STATEMENTS = {
    tree.CreateStream: "CREATE STREAM", tree.CreateTable: "CREATE TABLE", tree.Output: "OUTPUT", tree.SetOption: "SET",
}  # fmt: skip


@dataclass(frozen=True)
class Question:
    plan: Node
    columns: tuple[str, ...]
    """Of the answer; the plan may have more, to order by."""
    order: tuple[tuple[str, bool], ...] = ()
    """Columns of the plan, or of lifetimes, and whether they descend."""
    limit: int | None = None
    per: tuple[str, ...] = ()
    """The limit is for each value of these."""

    @property
    def timeless(self) -> bool:
        """All rows of the answer are of everything, so that their lifetimes say nothing."""
        return is_timeless(self.plan)


def is_timeless(plan: Node) -> bool:
    while isinstance(plan, Project | Filter):
        plan = plan.input
    return isinstance(plan, WindowAggregate) and plan.window == WHOLE


def question(
    source: Source, params: Mapping[str, Any], names: Mapping[str, Given],
    asked: Callable[[Context, tree.Reference, Given], Given],
) -> Question:  # fmt: skip
    """Raises the first thing that is wrong with it."""
    parsed = parse(source, question=True)
    if parsed.errors:
        raise parsed.errors[0]
    if not parsed.statements:
        raise ConfigError("QUERY.NOT_A_QUERY", what="empty")
    context = Context(source, names, params, asked=asked)
    for statement in parsed.statements:
        last = statement is parsed.statements[-1]
        if not isinstance(statement, tree.Define) or (statement.name is None) != last:
            kind = _STATEMENTS.get(type(statement), "a query without a name" if not last else "a query with a name")
            raise ConfigError("QUERY.NOT_A_QUERY", what=kind)
        if statement.name is not None:
            if statement.name.text in context.names:
                fix = "Choose another name for it."
                raise context.error("SQL.DUPLICATE_NAME", statement.name.span, name=statement.name.text, fix=fix)
            context = context.knowing({statement.name.text: Given(bind_query(context, statement.query))})
            continue
        found = _asked(context, statement.query)
    for name in params:
        if name not in context.used:
            choices, guess = listed(sorted(context.used)), nearest(name, sorted(context.used))
            raise SqlError("SQL.UNUSED_PARAMETER", name=name, choices=choices, guess=guess)
    return found


def parameters(source: Source) -> set[str]:
    """The names of the parameters in a text, as far as it can be read."""
    every = (part for statement in parse(source, question=True).statements for part in tree.walk(statement, True))
    return {part.name for part in every if isinstance(part, tree.Parameter)}


def _asked(context: Context, query: tree.Query) -> Question:
    if isinstance(query, tree.With):
        for name, part in query.parts:
            context = context.knowing({name.text: Given(bind_query(context, part))})
        return _asked(context, query.body)
    if not isinstance(query, tree.Select):
        plan = bind_query(context, query)
        return Question(plan, tuple(plan.schema.names))
    select = replace(query, order=(), limit=None, distinct=None)
    plan = bind_query(context, select)
    columns = tuple(plan.schema.names)
    order: list[tuple[str, bool]] = []
    hidden: list[tree.Item] = []
    taken = set(columns)
    for each in query.order:
        column = _column(context, each.by, columns)
        if column is None:
            column = fresh("order_by", taken)
            hidden.append(tree.Item(each.by, tree.Word(column, span=each.span), span=each.span))
        order.append((column, each.descending))
    if hidden:
        if query.distinct is not None:
            fix = "Order by a column of the SELECT list."
            raise context.unsupported(query.order[0].span, "SELECT DISTINCT ordered by another column", fix)
        plan = bind_query(context, replace(select, items=(*select.items, *hidden)))
    if query.distinct is not None:
        plan = _distinct(plan)
    limit, per = None, list[str]()
    if query.limit is not None:
        limit = count(context, query.limit.count, "LIMIT")
        for by in query.limit.by:
            column = _column(context, by, columns)
            if column is None:
                raise context.unsupported(by.span, "LIMIT BY another column", "Name a column of the SELECT list.")
            per.append(column)
    return Question(plan, columns, tuple(order), limit, tuple(per))


def _column(context: Context, node: tree.Expression, columns: tuple[str, ...]) -> str | None:
    """The column of the answer that is meant, by name, by place or as its lifetime; None for any other expression."""
    if isinstance(node, tree.Value) and node.type == "int":
        if not 1 <= node.value <= len(columns):
            fix = f"It is the place of a column in the SELECT list, from 1 to {len(columns)}."
            raise context.error("SQL.BAD_VALUE", node.span, what="ORDER BY", value=node.value, fix=fix)
        place: int = node.value
        return columns[place - 1]
    if isinstance(node, tree.Call) and not node.args and node.name.text.lower() in ("start", "end"):
        return VS if node.name.text.lower() == "start" else VE
    return node.last if isinstance(node, tree.Name) and len(node.parts) == 1 and node.last in columns else None


def _distinct(plan: Node) -> Node:
    """Each row once, whenever it was valid."""
    names = tuple(plan.schema.names)
    events = fresh("events", set(names))
    grouped = WindowAggregate(plan, names, ((events, Aggregate("count")),), WHOLE)
    return Project(grouped, tuple((name, col(name)) for name in names))
