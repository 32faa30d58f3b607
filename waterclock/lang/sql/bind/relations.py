"""What stands in FROM, joins aside: names, sub-queries, functions over relations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from waterclock.expr.nodes import End, Start, col
from waterclock.lang.sql import tree
from waterclock.lang.sql.bind.context import Context
from waterclock.lang.sql.bind.lifetimes import FUNCTIONS, bind_lifetime
from waterclock.lang.sql.bind.scope import Column, Rows, Visible, fresh
from waterclock.lang.sql.names import match, nearest
from waterclock.plan import Node, Project

WINDOW_FUNCTIONS = ("TUMBLE", "HOP", "SESSION")
SAME_START = ("EXTEND", "SET_DURATION", "CLIP_DURATION", "SESSION_LIFETIME")
"""Behind these, the time column of a stream still tells when its events start."""


@dataclass(frozen=True)
class Sources:
    """Binds the relations of one SELECT."""

    context: Context
    query: Callable[[Context, tree.Query], Node]
    wanted: frozenset[tuple[str, str]]
    """The starts and ends of relations that the SELECT asks for: ``START(a)`` is ("a", "start")."""

    def bind(self, node: tree.Relation) -> Rows:
        """A relation that is no join."""
        return self._timed(self._leaf(node))

    def _leaf(self, node: tree.Relation) -> Rows:
        if isinstance(node, tree.Reference):
            given = self.context.find(node.name)
            if self.context.asked is not None:
                given = self.context.asked(self.context, node, given)
            return _seen(node, node.name.text, given.plan, given.time)
        if isinstance(node, tree.Nested):
            return _seen(node, "the sub-query", self.query(self.context, node.query))
        assert isinstance(node, tree.Applied)
        return self._applied(node)

    def _applied(self, node: tree.Applied) -> Rows:
        inner = self._leaf(node.input)
        name = node.function.text.upper()
        if inner.window is not None:
            fix = "A window function stands outermost in FROM."
            raise self.context.unsupported(node.span, f"{name} over a window function", fix)
        if node.partition and name not in ("SESSION", "SESSION_LIFETIME"):
            raise self.context.unsupported(node.partition[0].span, f"PARTITION BY in {name}", "Leave it out.")
        if name in WINDOW_FUNCTIONS:
            alias = node.alias.text if node.alias else inner.visible[0].alias
            return replace(inner, visible=(replace(inner.visible[0], alias=alias),), window=node)
        plan = bind_lifetime(self.context, inner, node)
        if plan is None:
            choices = [*(function.upper() for function in FUNCTIONS), *WINDOW_FUNCTIONS]
            fix = f"Functions in FROM: {', '.join(choices)}.{nearest(name, choices)}"
            raise self.context.error("SQL.UNKNOWN_FUNCTION", node.function.span, function=name, fix=fix)
        self.context.came_from(plan, node.span)
        alias = node.alias.text if node.alias else inner.visible[0].alias
        seen = replace(inner.visible[0], alias=alias)
        return Rows(plan, (seen if name in SAME_START else replace(seen, time=None),))

    def _timed(self, rows: Rows) -> Rows:
        """With the start and end of its events as hidden columns, if the query asks for them."""
        (seen,) = rows.visible
        wanted = [what for alias, what in sorted(self.wanted) if match(alias, [seen.alias])]
        if not wanted:
            return rows
        taken = set(rows.plan.schema.names)
        names = {what: fresh(f"{what}_of_{seen.alias}".replace(" ", "_"), taken) for what in wanted}
        kept = tuple((name, col(name)) for name in rows.plan.schema.names)
        made = tuple((names[what], Start() if what == "start" else End()) for what in wanted)
        plan = Project(rows.plan, (*kept, *made))
        return replace(rows, plan=plan, visible=(replace(seen, start=names.get("start"), end=names.get("end")),))


def _seen(node: tree.Relation, name: str, plan: Node, time: str | None = None) -> Rows:
    alias = node.alias.text if node.alias is not None else name
    columns = tuple(Column(column, column, kind) for column, kind in plan.schema)
    return Rows(plan, (Visible(alias, columns, time=time),))
