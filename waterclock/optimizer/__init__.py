"""From the plan a user wrote to the form that runs."""

from waterclock.optimizer.bounds import check_bounds, find_unbounded
from waterclock.optimizer.cut import OUTPUT, Leg, Stateful, VertexPlan, cut
from waterclock.optimizer.optimize import optimize, steps
from waterclock.optimizer.rules import RULES, Rule
from waterclock.optimizer.share import Shared, share
from waterclock.optimizer.statistics import Statistics

__all__ = [
    "OUTPUT", "RULES", "Leg", "Rule", "Shared", "Stateful", "Statistics", "VertexPlan", "check_bounds", "cut",
    "find_unbounded", "optimize", "share", "steps",
]  # fmt: skip
