"""Joins: equalities between the sides become keys, the rest of ON becomes the condition on pairs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from waterclock.errors import ConfigError
from waterclock.expr.nodes import Column as ColumnExpr
from waterclock.expr.nodes import Expr, coalesce, col
from waterclock.lang.sql import tree
from waterclock.lang.sql.bind.constants import duration
from waterclock.lang.sql.bind.context import Context
from waterclock.lang.sql.bind.relations import Sources
from waterclock.lang.sql.bind.scalars import Scalars, Typed
from waterclock.lang.sql.bind.scope import Rows, Visible, fresh
from waterclock.lang.sql.names import match
from waterclock.lang.sql.source import Span
from waterclock.plan import AsOf, Join, Node, Project
from waterclock.plan.join import ONE_SIDED
from waterclock.schema import INTEGERS

SHOWN = {"semi": "LEFT SEMI", "anti": "LEFT ANTI SEMI", "clip": "CLIP"}


@dataclass
class Side:
    """One side of a join, with the columns that its keys need."""

    rows: Rows
    keys: list[str] = field(default_factory=list)
    made: list[tuple[str, Expr]] = field(default_factory=list)

    def add(self, expr: Expr, taken: set[str]) -> None:
        if isinstance(expr, ColumnExpr):
            self.keys.append(expr.name)
        else:
            name = fresh("join_key", taken)
            self.made.append((name, expr))
            self.keys.append(name)

    @property
    def plan(self) -> Node:
        if not self.made:
            return self.rows.plan
        kept = tuple((name, col(name)) for name in self.rows.plan.schema.names)
        return Project(self.rows.plan, (*kept, *self.made))


def bind_relation(sources: Sources, node: tree.Relation) -> Rows:
    """Everything that stands in FROM."""
    return _join(sources, node) if isinstance(node, tree.Joined) else sources.bind(node)


def _join(sources: Sources, node: tree.Joined) -> Rows:
    context, kind = sources.context, node.kind.text
    left, right = (Side(bind_relation(sources, side)) for side in (node.left, node.right))
    for side in (left, right):
        if side.rows.window is not None:
            fix = "Aggregate over the window in a query of its own, then join that."
            raise context.unsupported(side.rows.window.span, "A window function in a join", fix)
    _check_aliases(context, left.rows, right.rows, node)
    taken = {*left.rows.plan.schema.names, *right.rows.plan.schema.names}
    if node.using:
        pairs = _using(context, left.rows, right.rows, node.using)
        for one, other, span in pairs:
            _add_keys(context, left, right, one, other, span, taken)
    rest = [] if node.on is None else _split(node.on)
    rest = [part for part in rest if not _key(context, left, right, part, taken)]
    names = _renamed(left.plan, right.plan)
    seen = tuple(visible.renamed(names) for visible in right.rows.visible)
    both = Rows(left.plan, (*left.rows.visible, *seen), {**left.rows.gone, **right.rows.gone})
    try:
        plan = (_as_of if kind.startswith("asof") else _paired)(context, node, left, right, names, both, rest)
    except ConfigError as error:
        raise context.source.caused(error, node.span if node.on is None else node.on.span) from None
    context.came_from(plan, node.kind.span.to(node.right.span))
    if kind in ONE_SIDED:
        gone = {visible.alias: SHOWN[kind] for visible in right.rows.visible}
        return Rows(plan, left.rows.visible, {**left.rows.gone, **gone})
    return _merged(replace(both, plan=plan), node, kind == "full", len(left.rows.visible))


def _paired(
    context: Context, node: tree.Joined, left: Side, right: Side, names: dict[str, str], both: Rows,
    rest: list[tree.Expression],
) -> Node:  # fmt: skip
    kind = "inner" if node.kind.text == "cross" else node.kind.text
    residual: Expr | None = None
    for part in rest:
        condition = Scalars(context, both, "ON").condition(part)
        residual = condition if residual is None else residual & condition
    keys = tuple(left.keys), tuple(right.keys)
    return Join(kind, left.plan, right.plan, *keys, tuple(names.items()), residual)


def _as_of(
    context: Context, node: tree.Joined, left: Side, right: Side, names: dict[str, str], both: Rows,
    rest: list[tree.Expression],
) -> Node:  # fmt: skip
    _check_asof(context, left.rows, right.rows, rest)
    within = None if node.within is None else duration(context, node.within, "WITHIN", least=0)
    kind = "left" if node.kind.text == "asof left" else "inner"
    keys = tuple(left.keys), tuple(right.keys)
    return AsOf(kind, left.plan, right.plan, *keys, tuple(names.items()), within)


def _check_aliases(context: Context, left: Rows, right: Rows, node: tree.Joined) -> None:
    known = [visible.alias for visible in left.visible]
    for visible in right.visible:
        if match(visible.alias, known):
            raise context.error("SQL.DUPLICATE_RELATION", node.right.span, relation=visible.alias)


def _renamed(left: Node, right: Node) -> dict[str, str]:
    """The columns of the right side, with other names where the left has them too."""
    taken = set(left.schema.names)
    return {name: fresh(name if name not in taken else f"{name}_right", taken) for name in right.schema.names}


def _split(node: tree.Expression) -> list[tree.Expression]:
    """The parts of a condition that AND joins."""
    if isinstance(node, tree.Operator) and node.function == "and" and node.symbol == "AND":
        return [*_split(node.args[0]), *_split(node.args[1])]
    return [node]


def _key(context: Context, left: Side, right: Side, node: tree.Expression, taken: set[str]) -> bool:
    """Whether a condition is an equality between the two sides; if so it becomes a key."""
    if not isinstance(node, tree.Operator) or node.function != "eq":
        return False
    sides = [_side_of(context, left.rows, right.rows, arg) for arg in node.args]
    if sorted(sides) != ["left", "right"]:
        return False
    one, other = node.args if sides == ["left", "right"] else reversed(node.args)
    bound = (Scalars(context, left.rows, "ON").value(one), Scalars(context, right.rows, "ON").value(other))
    _add_keys(context, left, right, *bound, node.span, taken)
    return True


def _side_of(context: Context, left: Rows, right: Rows, node: tree.Expression) -> str:
    """left, right, both or neither; raises for names that are nowhere or in both."""
    both = Rows(left.plan, (*left.visible, *right.visible), {**left.gone, **right.gone})
    sides = set()
    for part in tree.walk(node):
        if isinstance(part, tree.Call) and part.name.text.lower() in ("start", "end"):
            return "both"  # the relation that it names is no column; pairs know it
        if isinstance(part, tree.Name):
            both.resolve(context, part)
            sides.add("left" if _resolves(context, left, part) else "right")
    return "both" if len(sides) > 1 else sides.pop() if sides else "neither"


def _resolves(context: Context, rows: Rows, name: tree.Name) -> bool:
    try:
        rows.resolve(context, name)
    except ConfigError:
        return False
    return True


def _add_keys(context: Context, left: Side, right: Side, one: Typed, other: Typed, span: Span, taken: set[str]) -> None:
    if one.type != other.type and not (one.type in INTEGERS and other.type in INTEGERS):
        raise context.error(
            "SQL.WRONG_TYPE", span, what="=", types=f"{one.type} and {other.type}",
            takes="two values of one type in a join", fix=" Convert one side with CAST(x AS type).",
        )  # fmt: skip
    left.add(one.expr, taken)
    right.add(other.expr, taken)


def _using(context: Context, left: Rows, right: Rows, words: tuple[tree.Word, ...]) -> list[tuple[Typed, Typed, Span]]:
    pairs = []
    for word in words:
        name = tree.Name((word.text,), span=word.span)
        bound = [Scalars(context, rows, "USING").name(name) for rows in (left, right)]
        pairs.append((bound[0], bound[1], word.span))
    return pairs


def _merged(rows: Rows, node: tree.Joined, full: bool, lefts: int) -> Rows:
    """After USING, a column without a qualifier is the left one, or in a full join whichever is there."""
    if not node.using:
        return rows
    words = {word.text.lower() for word in node.using}

    def hide(seen: Visible) -> Visible:
        return replace(
            seen, columns=tuple(replace(c, merged=c.merged or c.name.lower() in words) for c in seen.columns)
        )

    seen = (*rows.visible[:lefts], *(hide(visible) for visible in rows.visible[lefts:]))
    if not full:
        return replace(rows, visible=seen)
    pairs = {
        one.physical: other.physical
        for visible in seen[:lefts] for one in visible.columns
        for partner in seen[lefts:] for other in partner.columns
        if one.name.lower() == other.name.lower() and one.name.lower() in words
    }  # fmt: skip
    columns = tuple(
        (name, coalesce(col(name), col(pairs[name])) if name in pairs else col(name)) for name in rows.plan.schema.names
    )
    return replace(rows, plan=Project(rows.plan, columns), visible=seen)


def _check_asof(context: Context, left: Rows, right: Rows, rest: list[tree.Expression]) -> None:
    """An as-of join goes by starts; a comparison of the time columns says just that and may be there."""
    for node in rest:
        if isinstance(node, tree.Operator) and node.function in ("ge", "le") and len(node.args) == 2:
            one, other = node.args if node.function == "ge" else reversed(node.args)
            if _is_time(context, left, one) and _is_time(context, right, other):
                continue
        fix = "ASOF pairs by equal keys, with the last event of the right side that had started when the left did."
        raise context.unsupported(node.span, "This condition in an ASOF JOIN", fix)


def _is_time(context: Context, rows: Rows, node: tree.Expression) -> bool:
    if not isinstance(node, tree.Name) or not _resolves(context, rows, node):
        return False
    return any(visible.time == rows.resolve(context, node).name for visible in rows.visible if visible.time)
