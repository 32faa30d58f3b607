"""Columns that nobody reads are dropped before events are moved and remembered, and aggregates before they are taken.

Where the whole payload says which events are the same (distinct, stitch) or user code is given all of it, nothing goes.
Aggregates take from their input only what they read, so nothing is put in front of them. A sub-plan that is used
several times keeps what any of its users reads, so it stays one.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import TypeVar

from waterclock.expr.nodes import Expr, col
from waterclock.optimizer.rules.base import Rule
from waterclock.plan import (
    Aggregate,
    Aggregation,
    AlterLifetime,
    AsOf,
    Explode,
    Filter,
    Join,
    Node,
    Project,
    SessionLifetime,
    SetDuration,
    Stitch,
    TopK,
    Union,
    WindowAggregate,
)
from waterclock.plan.join import ONE_SIDED
from waterclock.plan.lifetime import Lifetime
from waterclock.plan.rebuild import parts_of, with_inputs
from waterclock.schema import Schema

T = TypeVar("T")
_NARROW = ("boolean", "int", "date", "float", "bigint", "double", "timestamp")


def rewrite(root: Node) -> Node:
    parts = parts_of(root)
    needs: dict[str, set[str]] = {part.identity: set() for part in parts}
    needs[root.identity] = set(root.schema.names)
    for part in reversed(parts):
        needs[part.identity] = set(_some(needs[part.identity], part.schema))
        for child, read in zip(part.inputs, _read(part, needs[part.identity]), strict=True):
            needs[child.identity] |= read
    done: dict[str, Node] = {}
    for part in parts:
        inputs = [done[child.identity] for child in part.inputs]
        done[part.identity] = _pruned(part, inputs, needs[part.identity])
    return done[root.identity]


def _read(node: Node, needed: Set[str]) -> list[Set[str]]:
    """The columns of each input that are needed when those of the result are."""
    if isinstance(node, Project):
        return [_columns(expr for name, expr in node.columns if name in needed)]
    if isinstance(node, Union):
        return [needed for _ in node.branches]
    if isinstance(node, Join | AsOf):
        return [set(names) for names in _sides(node, needed)]
    if isinstance(node, Aggregation):
        taken = [one for _, one in _aggregates(node, needed)]
        return [set(node.keys) | _columns(expr for one in taken for expr in (one.arg, one.where))]
    if isinstance(node, Filter):
        return [needed | node.predicate.columns()]
    if isinstance(node, Explode):
        # A column that is replaced keeps its place.
        kept = needed | {node.column} if node.column in node.input.schema else needed - {node.column}
        return [kept | node.array.columns()]
    if isinstance(node, TopK):
        return [needed - {node.rank} | set(node.keys) | node.by.columns()]
    if isinstance(node, SessionLifetime):
        return [needed | set(node.keys)]
    if isinstance(node, SetDuration):
        return [needed | _columns([node.duration] if isinstance(node.duration, Expr) else [])]
    if isinstance(node, AlterLifetime):
        return [needed | _columns([node.start, node.duration])]
    if isinstance(node, Lifetime) and not isinstance(node, Stitch):
        return [needed]
    return [set(child.schema.names) for child in node.inputs]


def _pruned(node: Node, inputs: list[Node], needed: Set[str]) -> Node:
    """The node over inputs that have at least the columns that it reads; it gives at least those that are needed."""
    if isinstance(node, Project):
        return with_inputs(node, inputs, columns=_kept(node.columns, needed))
    if isinstance(node, Union):
        alike = all(child.schema == inputs[0].schema for child in inputs)
        return with_inputs(node, inputs if alike else [_narrowed(child, needed) for child in inputs])
    if isinstance(node, Join | AsOf):
        sides = [_narrowed(child, names) for child, names in zip(inputs, _sides(node, needed), strict=True)]
        return with_inputs(node, sides, names=_names(node, needed))
    if isinstance(node, Aggregation):
        return with_inputs(node, inputs, aggregates=_aggregates(node, needed))
    if isinstance(node, TopK):
        rank = node.rank if node.rank in needed else None
        return with_inputs(node, [_narrowed(inputs[0], _read(node, needed)[0])], rank=rank)
    if isinstance(node, Lifetime) and not node.stateless and not isinstance(node, Stitch):
        return with_inputs(node, [_narrowed(inputs[0], _read(node, needed)[0])])
    return with_inputs(node, inputs)


def _sides(node: Join | AsOf, needed: Set[str]) -> tuple[Set[str], Set[str]]:
    """The columns of the left and of the right side that are needed."""
    read = _condition(node)
    left = {name for name in node.left.schema.names if name in needed or name in read}
    return left | set(node.left_keys), {source for source, _ in _names(node, needed)} | set(node.right_keys)


def _names(node: Join | AsOf, needed: Set[str]) -> tuple[tuple[str, str], ...]:
    """Those of right columns that are in the result or in the condition; of a pair, one at least."""
    shown = set[str]() if node.kind in ONE_SIDED else needed
    names = tuple(pair for pair in node.names if pair[1] in shown or pair[1] in _condition(node))
    if not names and node.kind not in ONE_SIDED:
        names = tuple(pair for pair in node.names if pair[0] in node.right_keys)[:1] or node.names[:1]
    return node.names if len(names) == len(node.names) else names


def _condition(node: Join | AsOf) -> Set[str]:
    return set() if isinstance(node, AsOf) or node.residual is None else node.residual.columns()


def _aggregates(node: Aggregation, needed: Set[str]) -> tuple[tuple[str, Aggregate], ...]:
    """Those that are read, one at least. With early results all: a change of any of them makes a revision."""
    if isinstance(node, WindowAggregate) and node.early:
        return node.aggregates
    return _kept(node.aggregates, needed) or node.aggregates[:1]


def _kept(pairs: tuple[tuple[str, T], ...], needed: Set[str]) -> tuple[tuple[str, T], ...]:
    kept = tuple(pair for pair in pairs if pair[0] in needed)
    return pairs if len(kept) == len(pairs) else kept


def _narrowed(node: Node, names: Set[str]) -> Node:
    """With these columns alone, in the order that they have."""
    wanted = _some(names, node.schema)
    if len(wanted) == len(node.schema.names):
        return node
    return Project(node, tuple((name, col(name)) for name in node.schema.names if name in wanted))


def _some(names: Set[str], schema: Schema) -> Set[str]:
    """These columns, or the cheapest one where none is needed: events have a payload."""
    if names:
        return names
    return {min(schema, key=lambda column: (*_NARROW, column[1]).index(column[1]))[0]}


def _columns(exprs: Iterable[Expr | None]) -> set[str]:
    return {name for expr in exprs if expr is not None for name in expr.columns()}


RULE = Rule("prune_columns", "What nobody reads is not moved and not remembered.", rewrite)
