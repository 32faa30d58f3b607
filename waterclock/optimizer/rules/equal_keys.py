"""Equalities in the condition of a join become keys, so that pairs are found by hash and not by trying all."""

from __future__ import annotations

from dataclasses import replace

from waterclock.expr.nodes import Call, Column, Expr
from waterclock.expr.rewrite import conjunction, conjuncts
from waterclock.optimizer.rules.base import Rule
from waterclock.plan import Join, Node
from waterclock.plan.rebuild import bottom_up
from waterclock.schema import INTEGERS


def rewrite(root: Node) -> Node:
    return bottom_up(root, _keyed)


def _keyed(node: Node) -> Node:
    if not isinstance(node, Join) or node.residual is None:
        return node
    rest: list[Expr] = []
    pairs: list[tuple[str, str]] = []
    for part in conjuncts(node.residual):
        pair = _pair(node, part)
        if pair is None:
            rest.append(part)
        else:
            pairs.append(pair)
    if not pairs:
        return node
    return replace(
        node,
        left_keys=(*node.left_keys, *(left for left, _ in pairs)),
        right_keys=(*node.right_keys, *(right for _, right in pairs)),
        residual=conjunction(rest) if rest else None,
    )


def _pair(node: Join, part: Expr) -> tuple[str, str] | None:
    """The columns of an equality between the sides. Floats stay: NaN and the zeros may be seen otherwise there."""
    if not isinstance(part, Call) or part.function != "eq":
        return None
    one, other = part.args
    if not isinstance(one, Column) or not isinstance(other, Column):
        return None
    sources = {name: source for source, name in node.names}
    for left, right in ((one.name, other.name), (other.name, one.name)):
        if left in node.left.schema and right in sources:
            kinds = node.left.schema.type_of(left), node.right.schema.type_of(sources[right])
            alike = kinds[0] == kinds[1] or (kinds[0] in INTEGERS and kinds[1] in INTEGERS)
            return (left, sources[right]) if alike and "float" not in kinds and "double" not in kinds else None
    return None


RULE = Rule("equal_keys", "A join by keys looks its pairs up instead of trying all.", rewrite)
