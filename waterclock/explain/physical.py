"""What runs: vertices, their stages and legs, where rows are exchanged, what is remembered, and what is promised."""

from __future__ import annotations

from collections.abc import Iterator

from waterclock.explain import rules
from waterclock.explain.bound import read
from waterclock.explain.program import Described, Output
from waterclock.explain.trees import short
from waterclock.operators.registry import operator_of
from waterclock.optimizer.cut import OUTPUT, Leg, Stateful, VertexPlan
from waterclock.optimizer.lives import Lives
from waterclock.optimizer.recovery import chosen
from waterclock.optimizer.state import output_bound, state_bound
from waterclock.plan import AsOf, Chop, Distinct, Input, Join, Node, Stitch
from waterclock.plan.drawing import Arrow, Box, Picture, box_of, titled, wrapped
from waterclock.plan.strategy import Strategy


def physical(program: Described) -> list[str]:
    lives = program.lives
    lines: list[str] = []
    for name, output in program.outputs.items():
        lines += [f"vertex {name}, which writes the stream {name}", _tasks(program, output.vertex)]
        for stage in range(output.vertex.stages):
            lines += _stage(output.vertex, stage, lives)
        lines += [*promises(program, name), ""]
    return lines[:-1]


def promises(program: Described, name: str) -> Iterator[str]:
    """State, guarantee and the rules of the inputs of an output."""
    output = program.outputs[name]
    yield f"  state      {output_bound(output.part, program.lives)}"
    recovery = chosen(output.vertex, output.recovery, program.lives, output.statistics)
    if recovery != Strategy():
        yield f"  recovery   {recovery}"
    if output.sink is not None:
        yield f"  sink       {rules.connector(output.sink)}"
    yield f"  guarantee  {rules.guarantee(name, output.sink)}"
    first = "  inputs     "
    for stream in read(output.written):
        for line in rules.input_lines(program, stream, name):
            yield first + line
            first = " " * len(first)


# -- stages ------------------------------------------------------------------------------------------------


def _tasks(program: Described, plan: VertexPlan) -> str:
    most = "as many as Spark has cores" if program.tasks is None else f"{program.tasks}"
    exchange = "" if plan.stages == 1 else ", without exchange"
    return f"  tasks      one for a small epoch{exchange}; more for a larger one, at most {most}"


def _stage(plan: VertexPlan, stage: int, lives: Lives) -> Iterator[str]:
    yield f"  stage {stage}, {'each task has a range of keys' if stage else 'tasks read pieces of the inputs'}"
    numbers = {node.id: f"({number})" for number, node in enumerate(plan.nodes, 1)}
    for node in plan.nodes:
        if node.stage == stage:
            yield f"    {numbers[node.id]} {node.node.label}"
            yield f"        tables     {', '.join(spec.name for spec in operator_of(node.node).tables)}"
            yield f"        remembers  {state_bound(node.node, lives)}"
    for target, legs in plan.targets():
        for leg in legs:
            if leg.stage == stage:
                origin = short(leg.source) if isinstance(leg.source, Input) else numbers[leg.origin]
                way = "".join(f" -> {node.label}" for node in leg.operators)
                yield f"    {origin}{way} -> {_end(plan, leg, target, numbers)}"


def _end(plan: VertexPlan, leg: Leg, target: str, numbers: dict[str, str]) -> str:
    if target == OUTPUT:
        return "output"
    node = next(each for each in plan.nodes if each.id == target)
    side = "" if not isinstance(node.node, Join | AsOf) else " left" if leg.port == 0 else " right"
    return f"{exchange(leg, node)} -> {numbers[target]}{side}"


def exchange(leg: Leg, node: Stateful) -> str:
    """How rows get from a leg to a stateful node."""
    if leg.stage == node.stage:
        return "stays in its task"
    keys = keys_of(node.node, leg.port)
    if keys:
        return f"exchange by {', '.join(keys)}"
    if isinstance(node.node, Distinct | Stitch | Chop):
        return "exchange by the whole row"
    if isinstance(node.node, Join) and any(table.shared for table in operator_of(node.node).tables):
        return "all to every task" if leg.port else "exchange by the whole row"
    return "exchange to one task"


def keys_of(node: Node, port: int) -> tuple[str, ...]:
    if isinstance(node, Join | AsOf):
        return node.right_keys if port else node.left_keys
    found: tuple[str, ...] = getattr(node, "keys", ())
    return found


# -- drawing -----------------------------------------------------------------------------------------------


def drawn(name: str, output: Output) -> Picture:
    """A vertex: its stages framed, a box for each stateful node and for each leg that does something."""
    plan = output.vertex
    boxes: dict[str, Box] = {}
    arrows: dict[Arrow, None] = {}
    every = [(target, number, leg) for target, legs in plan.targets() for number, leg in enumerate(legs)]
    for stage in range(plan.stages):
        for node in plan.nodes:
            if node.stage == stage:
                boxes[node.id] = box_of(node.node, stage)
        for target, number, leg in every:
            if leg.stage == stage:
                _add_leg(plan, target, number, leg, boxes, arrows)
    guarantee = "no sink" if output.sink is None else f"{rules.connector(output.sink)}, {output.sink.guarantee}"
    boxes[OUTPUT] = Box(OUTPUT, name, wrapped(guarantee), f"{name} ({plan.root.schema})", "output", plan.stages - 1)
    stages = tuple(f"stage {number}" for number in range(plan.stages))
    return Picture(tuple(boxes.values()), tuple(arrows), f"vertex {name}", stages)


def _add_leg(
    plan: VertexPlan, target: str, number: int, leg: Leg, boxes: dict[str, Box], arrows: dict[Arrow, None]
) -> None:
    at = leg.source.identity if isinstance(leg.source, Input) else leg.origin
    if isinstance(leg.source, Input):
        boxes.setdefault(at, box_of(leg.source, 0))
    if leg.operators:
        name = f"{target} {number}"
        labels = [node.label for node in leg.operators]
        title, rest = titled(leg.operators[0])
        title, lines = (title, wrapped(rest)) if len(labels) == 1 else ("leg", tuple(labels))
        boxes[name] = Box(name, title, lines, "\n".join(labels), "stateless", leg.stage)
        arrows[Arrow(at, name)] = None
        at = name
    node = next((each for each in plan.nodes if each.id == target), None)
    label = "" if node is None or node.stage == leg.stage else exchange(leg, node).removeprefix("exchange ")
    arrows[Arrow(at, target, label, leg.port)] = None
