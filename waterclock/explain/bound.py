"""Every name of a program with what it stands for: columns and types, lifetimes, time rules, what is read."""

from __future__ import annotations

from collections.abc import Iterator

from waterclock.explain import rules
from waterclock.explain.program import Described
from waterclock.explain.trees import properties
from waterclock.plan import Input, Node


def bound(program: Described) -> list[str]:
    parts = [_stream(program, name) for name in program.streams]
    parts += [_table(program, name) for name in program.tables]
    declared = {*program.streams, *program.tables}
    parts += [_query(program, name, plan) for name, plan in program.queries.items() if name not in declared]
    parts += [_output(program, name) for name in program.outputs]
    lines: list[str] = []
    for part in parts:
        lines += [*part, ""]
    return lines[:-1]


def _stream(program: Described, name: str) -> Iterator[str]:
    declaration, source = program.streams[name]
    yield f"stream {name} ({declaration.schema})"
    yield f"  lifetime   {rules.lifetime(declaration)}"
    yield f"  time       {rules.time(declaration)}; {rules.idle(declaration)}"
    yield f"  late rows  {rules.late(declaration)}"
    yield f"  bad rows   {rules.bad(declaration)}"
    ahead = rules.ahead(declaration)
    if ahead is not None:
        yield f"  ahead      {ahead}"
    yield f"  source     {'what is pushed' if source is None else rules.connector(source)}"


def _table(program: Described, name: str) -> Iterator[str]:
    declaration, rows = program.tables[name]
    yield f"table {name} ({declaration.schema})"
    yield f"  rows       {rows:,}, valid for ever"


def _query(program: Described, name: str, plan: Node) -> Iterator[str]:
    yield f"query {name} ({plan.schema})"
    yield f"  reads      {', '.join(read(plan))}"
    yield f"  events     {properties(plan, program.lives)}"


def _output(program: Described, name: str) -> Iterator[str]:
    output = program.outputs[name]
    sink = "" if output.sink is None else f" to {rules.connector(output.sink)}"
    yield f"output {name} ({output.written.schema}){sink}"
    yield f"  guarantee  {rules.guarantee(name, output.sink)}"


def read(plan: Node) -> list[str]:
    """The streams and tables that a plan reads."""
    if isinstance(plan, Input):
        return [plan.stream]
    return list(dict.fromkeys(name for child in plan.inputs for name in read(child)))
