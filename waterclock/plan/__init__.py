"""The plan: frozen nodes with derived schema and stream properties."""

from waterclock.plan.explain import explain
from waterclock.plan.nodes import Aggregate, Filter, Input, Node, Project, Union, WindowAggregate
from waterclock.plan.window import Window

__all__ = ["Aggregate", "Filter", "Input", "Node", "Project", "Union", "Window", "WindowAggregate", "explain"]
