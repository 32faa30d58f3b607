"""From a plan to what runs: cutting into vertices, stages and legs."""

from waterclock.optimizer.cut import Leg, Stateful, VertexPlan, cut

__all__ = ["Leg", "Stateful", "VertexPlan", "cut"]
