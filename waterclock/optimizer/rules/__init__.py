"""The rules of the optimizer, one a file, in the order in which they are applied."""

from waterclock.optimizer.rules import (
    choose_sides,
    equal_keys,
    fold_constants,
    fuse_stateless,
    lifetimes,
    merge_equal,
    narrow_joins,
    prune_columns,
    push_filters,
)
from waterclock.optimizer.rules.base import Rule

RULES: tuple[Rule, ...] = (
    fold_constants.RULE,
    lifetimes.RULE,
    fuse_stateless.RULE,
    narrow_joins.RULE,
    push_filters.RULE,
    equal_keys.RULE,
    choose_sides.RULE,
    prune_columns.RULE,
    merge_equal.RULE,
)

__all__ = ["RULES", "Rule"]
