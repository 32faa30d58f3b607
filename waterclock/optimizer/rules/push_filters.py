"""Filters go down to where the events come from, as far as they see the same events there.

Conditions are taken apart and each part goes its own way. Two things stop a part whatever it says: user code, which
must not see rows that it did not see before, and a stateful sub-plan that is used twice, which would be computed twice.
Windows over events that never end stop it too: how far they go depends on all events of their input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace

from waterclock.expr.nodes import Call, Column, Expr, col, uses_time
from waterclock.expr.rewrite import (
    conjunction,
    conjuncts,
    has_user_code,
    is_light,
    parts,
    substituted,
)
from waterclock.optimizer.rules.base import Rule
from waterclock.optimizer.rules.fuse_stateless import given_by
from waterclock.plan import (
    Aggregation,
    Apply,
    AsOf,
    Distinct,
    Explode,
    Filter,
    Join,
    Node,
    Project,
    SessionLifetime,
    Stitch,
    TopK,
    Track,
    Union,
    WindowAggregate,
)
from waterclock.plan.lifetime import Lifetime
from waterclock.plan.rebuild import uses, with_inputs
from waterclock.schema import Schema

_SIGNLESS = {"eq", "ne", "lt", "le", "gt", "ge", "is_null", "is_not_null", "is_in", "between", "isnan", "eq_null_safe"}
"""They do not tell the two zeros apart, which a group does not either."""


def rewrite(root: Node) -> Node:
    return _Push(root).into(root, [])


class _Push:
    def __init__(self, root: Node) -> None:
        self._uses = uses(root)
        self._done: dict[str, Node] = {}
        """Sub-plans without anything to push into them."""

    def into(self, node: Node, some: list[Expr]) -> Node:
        """The node with conditions of built-in functions on top of it, as deep in it as they can go."""
        if not some:
            if node.identity not in self._done:
                self._done[node.identity] = self._through(node, [])
            return self._done[node.identity]
        if not node.stateless and not isinstance(node, Union) and self._uses[node.identity] > 1:
            return _filtered(self.into(node, []), some)
        return self._through(node, some)

    def _through(self, node: Node, some: list[Expr]) -> Node:
        if isinstance(node, Filter):
            own = conjuncts(node.predicate)
            user = [part for part in own if has_user_code(part)]
            below = self.into(node.input, [part for part in own if not has_user_code(part)] + some)
            if not some and below is node.input and len(user) == len(own):
                return node
            return _filtered(below, user)
        if isinstance(node, Project):
            return self._project(node, some)
        if isinstance(node, Union):
            return with_inputs(node, [self.into(branch, some) for branch in node.branches])
        if isinstance(node, Join | AsOf):
            return self._join(node, some)
        moved, stay = _split(some, lambda part: _passes(node, part))
        return _filtered(with_inputs(node, [self.into(child, moved) for child in node.inputs]), stay)

    def _project(self, node: Project, some: list[Expr]) -> Node:
        given = given_by(node)
        moved, stay = _split(some, lambda part: all(is_light(given[name]) for name in part.columns()))
        below = self.into(node.input, [substituted(part, given) for part in moved])
        return _filtered(with_inputs(node, [below]), stay)

    def _join(self, node: Join | AsOf, some: list[Expr]) -> Node:
        left, right, both, stay = _Sides(node).shared_out(some)
        if isinstance(node, Join) and node.residual is not None:
            own = conjuncts(node.residual)
            to_left, to_right, rest = _of_residual(node, own)
            left, right = left + to_left, right + to_right
            if both or len(rest) < len(own):
                node = replace(node, residual=conjunction(rest + both) if rest + both else None)
        elif isinstance(node, Join) and both:
            node = replace(node, residual=conjunction(both))
        inputs = [self.into(node.left, left), self.into(node.right, right)]
        return _filtered(with_inputs(node, inputs), stay)


class _Sides:
    """To which side of a join a condition on its result may go."""

    def __init__(self, node: Join | AsOf) -> None:
        self._inner = isinstance(node, Join) and node.kind == "inner"
        self._left = set(node.left.schema.names) if node.kind != "full" else set[str]()
        self._right = {name: col(source) for source, name in node.names} if self._inner else {}
        keys = [
            (a, b)
            for a, b in zip(node.left_keys, node.right_keys, strict=True)
            if node.left.schema.type_of(a) == node.right.schema.type_of(b) not in ("float", "double")
        ]
        self._right_of = {a: col(b) for a, b in keys}
        self._left_of = {b: col(a) for a, b in keys}

    def shared_out(self, some: Sequence[Expr]) -> tuple[list[Expr], list[Expr], list[Expr], list[Expr]]:
        """For the left, for the right, for the pair, and what stays above. What speaks of keys alone holds for both."""
        left: list[Expr] = []
        right: list[Expr] = []
        both: list[Expr] = []
        stay: list[Expr] = []
        for part in some:
            columns = part.columns()
            if uses_time(part) or not columns:
                stay.append(part)
            elif columns <= self._left:
                left.append(part)
                if columns <= self._right_of.keys():
                    right.append(substituted(part, self._right_of))
            elif columns <= self._right.keys():
                there = substituted(part, self._right)
                right.append(there)
                if there.columns() <= self._left_of.keys():
                    left.append(substituted(there, self._left_of))
            elif self._inner:
                both.append(part)
            else:
                stay.append(part)
        return left, right, both, stay


def _of_residual(node: Join, own: list[Expr]) -> tuple[list[Expr], list[Expr], list[Expr]]:
    """Parts of the condition of a join for the left, for the right, and for pairs.

    A right event that no left one can match does nothing, except in a full join; a left one shows unless the join is
    inner or semi.
    """
    sources = {name: col(source) for source, name in node.names}
    left, right, rest = list[Expr](), list[Expr](), list[Expr]()
    for part in own:
        columns = part.columns()
        if has_user_code(part) or not columns or node.kind == "full":
            rest.append(part)
        elif columns <= set(node.left.schema.names) and node.kind in ("inner", "semi"):
            left.append(part)
        elif columns <= sources.keys() - set(node.left.schema.names):
            right.append(substituted(part, sources))
        else:
            rest.append(part)
    return left, right, rest


def _passes(node: Node, part: Expr) -> bool:
    """Whether a condition on the result of an operator with one input is the same condition on that input."""
    columns = part.columns()
    if not columns:
        return False
    if isinstance(node, Explode):
        return node.column not in columns
    if uses_time(part):
        return False
    if isinstance(node, Distinct | Stitch):
        return _sees_groups_alike(part, node.schema)
    if isinstance(node, Lifetime) and node.stateless:
        return True
    return columns <= _grouped(node) and _sees_groups_alike(part, node.schema)


def _grouped(node: Node) -> Set[str]:
    """Columns whose values are independent of each other in the operator."""
    if isinstance(node, WindowAggregate) and (node.early or node.input.open_ended):
        return set()
    if isinstance(node, TopK) and node.window is not None and node.input.open_ended:
        return set()
    if isinstance(node, Track | Apply) and node.on_error.leaves_out:
        return set()  # what fails is told, whatever becomes of the results
    return set(node.keys) if isinstance(node, Aggregation | TopK | SessionLifetime | Track | Apply) else set()


def _sees_groups_alike(part: Expr, schema: Schema) -> bool:
    """Whether the condition is the same for all members of a group: 0.0 and -0.0 are in one."""
    if isinstance(part, Column):
        return schema.type_of(part.name) in ("boolean", "int", "bigint", "string", "binary", "date", "timestamp")
    if isinstance(part, Call) and part.function in _SIGNLESS:
        return all(isinstance(arg, Column) or _sees_groups_alike(arg, schema) for arg in part.args)
    return all(_sees_groups_alike(arg, schema) for arg in parts(part))


def _filtered(node: Node, some: Sequence[Expr]) -> Node:
    return Filter(node, conjunction(some)) if some else node


def _split(some: Sequence[Expr], moves: Callable[[Expr], bool]) -> tuple[list[Expr], list[Expr]]:
    return [part for part in some if moves(part)], [part for part in some if not moves(part)]


RULE = Rule("push_filters", "Events that will be dropped are not moved, remembered or computed with.", rewrite)
