"""Rewrites a plan by rules until nothing changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waterclock.errors import ConfigError, RunError
from waterclock.optimizer.rules import RULES, Rule
from waterclock.plan.nodes import Node

ROUNDS = 12
"""Every rule makes a plan simpler in its own way; should two ever disagree, this ends it."""


def optimize(root: Node, rules: Sequence[Rule] = RULES) -> Node:
    """A plan with the same columns and the same events that costs less."""
    for _, plan in _rewritten(root, rules):
        root = plan
    return root


def steps(root: Node, rules: Sequence[Rule] = RULES) -> list[tuple[str, Node]]:
    """The rules that changed something, in order, and the plan after each of them."""
    found: list[tuple[str, Node]] = []
    for rule, plan in _rewritten(root, rules):
        if plan.identity != root.identity:
            found.append((rule.name, plan))
        root = plan
    return found


def _rewritten(root: Node, rules: Sequence[Rule]) -> Iterator[tuple[Rule, Node]]:
    for _ in range(ROUNDS):
        before = root.identity
        for rule in rules:
            root = _applied(rule, root)
            yield rule, root
        if root.identity == before:
            return


def _applied(rule: Rule, root: Node) -> Node:
    try:
        made = rule.rewrite(root)
    except ConfigError as error:
        raise RunError("PLAN.RULE_BROKEN", rule=rule.name, reason=error.message.rstrip(".")) from error
    if made.schema != root.schema:
        raise RunError("PLAN.RULE_BROKEN", rule=rule.name, reason=f"it made ({made.schema}) of ({root.schema})")
    return made
