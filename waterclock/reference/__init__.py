"""The slow, obvious evaluator: what a query means, in plain Python. Tests compare everything else with it."""

from waterclock.reference.compare import bag_difference, logical_difference
from waterclock.reference.evaluate import evaluate, final, fixpoint
from waterclock.reference.events import Event
from waterclock.reference.expressions import value_of

__all__ = ["Event", "bag_difference", "evaluate", "final", "fixpoint", "logical_difference", "value_of"]
