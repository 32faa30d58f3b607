"""Queries: SELECT with its clauses, UNION, WITH."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from waterclock.errors import ConfigError, SqlError
from waterclock.expr.functions import common
from waterclock.expr.nodes import Cast, Expr, col
from waterclock.lang.sql import tree
from waterclock.lang.sql.bind.aggregates import is_aggregate
from waterclock.lang.sql.bind.constants import count
from waterclock.lang.sql.bind.context import Context
from waterclock.lang.sql.bind.grouping import REVISION, Grouped, Grouping, is_border, is_revision
from waterclock.lang.sql.bind.joins import bind_relation
from waterclock.lang.sql.bind.relations import Sources
from waterclock.lang.sql.bind.scalars import Scalars, Typed
from waterclock.lang.sql.bind.scope import Rows, fresh
from waterclock.lang.sql.bind.tables import window_of
from waterclock.lang.sql.bind.windows import EVERYTHING, FIXED, Frame, bind_window, check_lateness
from waterclock.lang.sql.given import Given
from waterclock.lang.sql.names import match
from waterclock.lang.sql.source import Span
from waterclock.plan import Distinct, Explode, Filter, Node, OnError, Project, TopK, Union, Window, guarded
from waterclock.plan.guarded import may_fail
from waterclock.schema import ORDERED


def bind_query(context: Context, query: tree.Query) -> Node:
    if isinstance(query, tree.With):
        for name, part in query.parts:
            context = context.knowing({name.text: Given(bind_query(context, part))})
        return bind_query(context, query.body)
    if isinstance(query, tree.Combined):
        return _union(context, query)
    return _Selecting(context, query).plan()


def _union(context: Context, query: tree.Combined) -> Node:
    plans = [bind_query(context, branch) for branch in query.branches]
    first = plans[0].schema.columns
    types = [[kind] for _, kind in first]
    for plan, branch in zip(plans[1:], query.branches[1:], strict=True):
        if len(plan.schema.columns) != len(first):
            what = f"The first query of the union has {len(first)} columns, this one {len(plan.schema.columns)}."
            raise context.error("SQL.UNION_MISMATCH", branch.span, what=what)
        for (name, kind), (other, its), known in zip(first, plan.schema.columns, types, strict=True):
            known.append(its)
            if common(known) is None:
                what = f"The column {name} is {kind} in the first query of the union, and {other} here is {its}."
                raise context.error("SQL.UNION_MISMATCH", branch.span, what=what)
    wide = [(name, common(known) or kind) for (name, kind), known in zip(first, types, strict=True)]
    union = Union(tuple(_as(plan, wide) for plan in plans))
    return context.came_from(Distinct(union), query.span) if query.distinct else union


def _as(plan: Node, columns: list[tuple[str, str]]) -> Node:
    """The same columns by position, with these names and types."""
    if list(plan.schema.columns) == columns:
        return plan
    pairs = zip(columns, plan.schema.columns, strict=True)
    return Project(
        plan, tuple((n, col(old) if its == kind else Cast(col(old), kind)) for (n, kind), (old, its) in pairs)
    )


@dataclass
class Made:
    """A column of the result."""

    name: str
    value: Typed
    span: Span


class Errors:
    """What is wrong with the columns of a SELECT list: each is told, not the first alone."""

    def __init__(self) -> None:
        self._found: list[SqlError] = []

    @contextmanager
    def gathered(self) -> Iterator[None]:
        try:
            yield
        except SqlError as error:
            self._found.append(error)

    def check(self) -> None:
        if self._found:
            first, *others = self._found
            first.others = tuple(others)
            raise first


class _Selecting:
    """One SELECT, from its relations up."""

    def __init__(self, context: Context, select: tree.Select) -> None:
        self.context = context
        self.select = select
        self._covered = False
        """ON ERROR has found user code that it speaks of."""
        self.aliases = frozenset(item.alias.text for item in select.items if item.alias is not None)

    def plan(self) -> Node:
        select = self.select
        rows = bind_relation(Sources(self.context, bind_query, _wanted(select)), select.source)
        if select.where is not None:
            condition = Scalars(self.context, rows, "WHERE", self.aliases).condition(select.where)
            rows = replace(rows, plan=self._guarded(Filter(rows.plan, condition)))
        try:
            plan = self._grouped(rows) if self._aggregates(rows) else self._plain(rows)
            if select.on_error is not None and not self._covered:
                raise self.context.error("SQL.NOTHING_FAILS", select.on_error.span)
            return plan
        except ConfigError as error:
            raise self.context.source.caused(error, select.span) from None

    def _guarded(self, plan: Node) -> Node:
        """A filter, an EXPLODE or the SELECT list under the policy of ON ERROR, if they call user code."""
        wanted = self.select.on_error
        if wanted is None or not may_fail(plan):
            return plan
        self._covered = True
        limit = None if wanted.limit is None else count(self.context, wanted.limit, "LIMIT of ON ERROR")
        try:
            return guarded(plan, OnError(wanted.policy, limit))
        except ConfigError as error:
            raise self.context.source.caused(error, wanted.span) from None

    def _aggregates(self, rows: Rows) -> bool:
        select = self.select
        asked = (*select.items, *select.order, select.having)
        return bool(select.keys or select.having or rows.window or any(is_aggregate(part) for part in tree.walk(asked)))

    # -- without groups ------------------------------------------------------------------------------------

    def _plain(self, rows: Rows) -> Node:
        frame: Frame | None = None
        if self.select.window is not None:
            if self.select.limit is None:
                window = self.select.window
                raise self.context.error("SQL.WINDOW_WITHOUT_AGGREGATE", window.span, window=window.kind.text)
            frame = bind_window(self.context, self.select.window)
        rows, exploded = self._exploded(rows)
        scalars = Scalars(self.context, rows, "SELECT")
        made: list[Made] = []
        errors = Errors()
        for number, item in enumerate(self.select.items):
            with errors.gathered():
                if isinstance(item.value, tree.Star):
                    for column in rows.starred(self.context, item.value):
                        made.append(Made(column.name, Typed(col(column.physical), column.type), item.span))
                elif exploded is not None and number == exploded[0]:
                    assert item.alias is not None
                    made.append(Made(item.alias.text, exploded[1], item.span))
                else:
                    made.append(Made(self._name(rows, item), scalars.value(item.value), item.span))
        errors.check()
        return self._finished(rows.plan, made, Scalars(self.context, rows, "ORDER BY"), frame)

    def _exploded(self, rows: Rows) -> tuple[Rows, tuple[int, Typed] | None]:
        """EXPLODE(array) AS name: one row for every element."""
        found: tuple[int, Typed] | None = None
        for number, item in enumerate(self.select.items):
            call = item.value
            if not isinstance(call, tree.Call) or call.name.text.lower() != "explode":
                continue
            if found is not None:
                raise self.context.unsupported(item.span, "A second EXPLODE", "Explode in a query of its own first.")
            if item.alias is None:
                raise self.context.error("SQL.NO_COLUMN_NAME", item.span)
            scalars = Scalars(self.context, rows, "SELECT")
            args = scalars.plain(call)
            if len(args) != 1:
                raise scalars.wrong_arguments(call, "EXPLODE(array)")
            array = scalars.value(args[0])
            if not array.type.startswith("array<"):
                fix = " Make one with split(text, ' ') or array(a, b)."
                raise self.context.error(
                    "SQL.WRONG_TYPE", call.span, what="EXPLODE", types=array.type, takes="an array", fix=fix
                )
            name = fresh(item.alias.text, set(rows.plan.schema.names))
            rows = replace(rows, plan=self._guarded(Explode(rows.plan, name, array.expr)))
            found = (number, Typed(col(name), array.type[6:-1]))
        return rows, found

    # -- with groups ---------------------------------------------------------------------------------------

    def _grouped(self, rows: Rows) -> Node:
        if self.select.on_error is not None:
            fix = "Put the user code into a query of its own, name = SELECT ... ON ERROR SKIP, and group that."
            raise self.context.unsupported(self.select.on_error.span, "ON ERROR with aggregates", fix)
        window = self._window(rows)
        frame = bind_window(self.context, window)
        check_lateness(self.context, window, frame, rows.plan)
        grouping = Grouping(self.context, rows, frame)
        for key in self.select.keys:
            node = self._key(rows, key)
            if not is_border(rows, node):
                grouping.add_key(node)
        grouped = Grouped(grouping, "SELECT")
        made: list[Made] = []
        errors = Errors()
        for item in self.select.items:
            with errors.gathered():
                if isinstance(item.value, tree.Star):
                    fix = "List the columns of GROUP BY, and aggregates of the others."
                    raise self.context.unsupported(item.span, "SELECT * of groups", fix)
                name = self._name(rows, item)
                grouped.wish = name if is_aggregate(item.value) else None
                made.append(Made(name, grouped.value(item.value), item.span))
        errors.check()
        grouped.wish = None
        if frame.early and not any(column.name == "revision" for column in made):
            made.append(Made("revision", REVISION, window.span))  # without it, results could not be told apart
        having = None
        if self.select.having is not None:
            grouped.clause = "HAVING"
            having = grouped.condition(self._unaliased(rows, self.select.having))
        for order in self.select.order:
            self._ranked(made, grouped, order.by)  # may ask for more aggregates
        plan = self.context.came_from(grouping.plan(), window.span)
        if having is not None:
            plan = Filter(plan, having)
        if self.select.limit is not None and frame.early:
            fix = "Revisions of one result would be ranked against each other."
            raise self.context.error(
                "SQL.WINDOW_OPTION", self.select.limit.span, option="LIMIT", window="ALLOWED LATENESS", fix=fix
            )
        if self.select.limit is not None and frame.kind == "HOPPING" and frame.result == "window":
            fix = "The results of overlapping windows overlap in time. Write RESULT AT HOLD or RESULT AT END."
            raise self.context.error(
                "SQL.WINDOW_OPTION", self.select.limit.span, option="LIMIT", window="HOPPING RESULT AT WINDOW", fix=fix
            )
        return self._finished(plan, made, grouped, None)

    def _window(self, rows: Rows) -> tree.Windowing:
        select = self.select
        if rows.window is not None:
            if select.window is not None:
                fix = "Keep one of them: WITH here, or the function in FROM."
                raise self.context.unsupported(select.window.span, "A second window", fix)
            return window_of(self.context, rows, rows.window, select.keys)
        if select.window is not None:
            return select.window
        for key in select.keys:
            Scalars(self.context, rows, "GROUP BY").bind(self._key(rows, key))  # what is wrong with it comes first
        if self.context.asked is not None:
            return tree.Windowing(tree.Word(EVERYTHING, span=select.span), (), span=select.span)
        for part in tree.walk((*select.items, select.having, *select.order)):
            if is_aggregate(part):
                assert isinstance(part, tree.Call)
                raise self.context.error("SQL.NO_WINDOW", part.span, what=part.name.text.upper())
        at = select.keys[0].span if select.keys else select.span
        raise self.context.error("SQL.NO_WINDOW", at, what="GROUP BY" if select.keys else "HAVING")

    def _key(self, rows: Rows, key: tree.Expression) -> tree.Expression:
        """A key that is a number or an alias stands for a column of the SELECT list, as in Spark SQL."""
        if isinstance(key, tree.Value) and key.type == "int":
            if not 1 <= key.value <= len(self.select.items):
                fix = f"It is the place of a column in the SELECT list, from 1 to {len(self.select.items)}."
                raise self.context.error("SQL.BAD_VALUE", key.span, what="GROUP BY", value=key.value, fix=fix)
            found = self.select.items[key.value - 1].value
            if isinstance(found, tree.Star):
                raise self.context.error("SQL.STAR", found.span)
            key = found
        else:
            key = self._unaliased(rows, key)
        for part in tree.walk(key):
            if is_aggregate(part):
                Scalars(self.context, rows, "GROUP BY").bind(key)
        return key

    def _unaliased(self, rows: Rows, node: tree.Expression) -> tree.Expression:
        """With the expressions that aliases of the SELECT list stand for.

        Columns of FROM go before aliases, unless the alias is of an aggregate: that a single event does not have.
        """

        def behind(name: tree.Name) -> tree.Expression:
            known = any(match(name.last, [column.name for column in seen.columns]) for seen in rows.visible)
            for item in self.select.items:
                if item.alias is None or item.alias.text != name.last or len(name.parts) > 1:
                    continue
                if not isinstance(item.value, tree.Star) and (not known or is_aggregate(item.value)):
                    return item.value
            return name

        return tree.replaced(node, behind, is_aggregate)

    # -- the result ----------------------------------------------------------------------------------------

    def _name(self, rows: Rows, item: tree.Item) -> str:
        if item.alias is not None:
            if item.alias.text.startswith("_"):
                raise self.context.error("SQL.BAD_COLUMN_NAME", item.alias.span, column=item.alias.text)
            return item.alias.text
        value = item.value
        while isinstance(value, tree.Conversion):
            value = value.arg
        if isinstance(value, tree.Name):
            special = is_border(rows, value) or is_revision(rows, value)
            return value.last.lower() if special else rows.resolve(self.context, value).name
        if isinstance(value, tree.Call):
            return value.name.text.lower()
        raise self.context.error("SQL.NO_COLUMN_NAME", item.span)

    def _finished(self, plan: Node, made: list[Made], scalars: Scalars, frame: Frame | None) -> Node:
        """The columns of the SELECT list, each once, then DISTINCT, then the first ones."""
        names: set[str] = set()
        for column in made:
            if column.name in names:
                raise self.context.error("SQL.DUPLICATE_COLUMN", column.span, column=column.name)
            names.add(column.name)
        columns = [(column.name, column.value.expr) for column in made]
        if self.select.limit is None:
            plan = self._guarded(_projected(plan, columns))
            if self.select.distinct is not None:
                plan = self.context.came_from(Distinct(plan), self.select.distinct.span)
            return plan
        return self._first(plan, made, columns, scalars, frame)

    def _first(
        self, plan: Node, made: list[Made], columns: list[tuple[str, Expr]], scalars: Scalars, frame: Frame | None
    ) -> Node:
        limit = self.select.limit
        assert limit is not None
        if len(self.select.order) > 1:
            fix = "Rank by one value: combine them to one expression."
            raise self.context.unsupported(self.select.order[1].span, "ORDER BY several values", fix)
        order = self.select.order[0]
        by = self._ranked(made, scalars, order.by)
        if by.type not in ORDERED:
            raise self.context.error(
                "SQL.WRONG_TYPE", order.span, what="ORDER BY", types=by.type, takes="a value that has an order", fix=""
            )
        taken = {column.name for column in made}
        hidden: list[tuple[str, Expr]] = []

        def column_for(expr: Expr, wish: str) -> str:
            known = next((name for name, value in (*columns, *hidden) if repr(value) == repr(expr)), None)
            if known is None:
                known = fresh(wish, taken)
                hidden.append((known, expr))
            return known

        rank = column_for(by.expr, "rank_by")
        keys = tuple(column_for(self._ranked(made, scalars, name).expr, name.last) for name in limit.by)
        if hidden and self.select.distinct is not None:
            fix = "Rank by a column of the SELECT list."
            raise self.context.unsupported(order.span, "SELECT DISTINCT ranked by another column", fix)
        plan = self._guarded(_projected(plan, [*columns, *hidden]))
        if self.select.distinct is not None:
            plan = self.context.came_from(Distinct(plan), self.select.distinct.span)
        k = count(self.context, limit.count, "LIMIT")
        plan = self.context.came_from(
            TopK(self._stretched(plan, frame), keys, col(rank), k, order.descending, None, self._ranking_window(frame)),
            order.span.to(limit.span),
        )
        return _projected(plan, [(name, col(name)) for name, _ in columns])

    def _ranked(self, made: list[Made], scalars: Scalars, node: tree.Expression) -> Typed:
        """A column of the result by its name or place, or any expression over the input."""
        if isinstance(node, tree.Name) and len(node.parts) == 1:
            for column in made:
                if column.name == node.last:
                    return column.value
        if isinstance(node, tree.Value) and node.type == "int":
            place: int = node.value
            if 1 <= place <= len(made):
                return made[place - 1].value
            fix = f"It is the place of a column in the SELECT list, from 1 to {len(made)}."
            raise self.context.error("SQL.BAD_VALUE", node.span, what="ORDER BY", value=node.value, fix=fix)
        return scalars.value(self._unaliased(scalars.rows, node))

    def _ranking_window(self, frame: Frame | None) -> Window | None:
        if frame is None or frame.kind in ("SNAPSHOT", "SLIDING"):
            return None
        assert self.select.window is not None
        if frame.kind not in FIXED:
            fix = "Rank per TUMBLING or HOPPING window, or at every moment without one."
            span = self.select.window.span
            raise self.context.error("SQL.WINDOW_OPTION", span, option="LIMIT", window=frame.kind, fix=fix)
        if frame.early:
            span, fix = self.select.window.span, "It belongs to aggregates."
            raise self.context.error("SQL.WINDOW_OPTION", span, option="ALLOWED LATENESS", window="LIMIT", fix=fix)
        return frame.window

    def _stretched(self, plan: Node, frame: Frame | None) -> Node:
        return plan if frame is None else frame.stretched(plan)


def _projected(plan: Node, columns: list[tuple[str, Expr]]) -> Node:
    """The columns, unless they are what is there already."""
    if [name for name, _ in columns] == plan.schema.names and all(repr(e) == name for name, e in columns):
        return plan
    return Project(plan, tuple(columns))


def _wanted(select: tree.Select) -> frozenset[tuple[str, str]]:
    """The relations whose starts and ends are asked for."""
    found = set()
    for part in tree.walk(select):
        if isinstance(part, tree.Call) and part.name.text.lower() in ("start", "end") and len(part.args) == 1:
            arg = part.args[0]
            if isinstance(arg, tree.Name) and len(arg.parts) == 1:
                found.add((arg.last, part.name.text.lower()))
    return frozenset(found)
