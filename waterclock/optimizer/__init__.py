"""From the plan a user wrote to the form that runs."""

from waterclock.optimizer.bounds import check_bounds, find_unbounded
from waterclock.optimizer.cut import OUTPUT, Leg, Stateful, VertexPlan, cut

__all__ = ["OUTPUT", "Leg", "Stateful", "VertexPlan", "check_bounds", "cut", "find_unbounded"]
