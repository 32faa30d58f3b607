"""What Spark is asked to do: the jobs of an epoch, and the SQL of batch mode. Nothing here starts Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator

from waterclock.batch.compile import compiled
from waterclock.batch.query import Query
from waterclock.explain.program import Described
from waterclock.optimizer.cut import VertexPlan

_TOKEN = re.compile(r"`(?:[^`]|``)*`|'(?:[^'\\]|\\.)*'|[()]|\w+|\s+|.", re.DOTALL)
_BREAKS = ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "UNION", "LATERAL", "JOIN", "LEFT", "INNER", "CROSS", "FULL")
_STAY = {("LEFT", "JOIN"), ("INNER", "JOIN"), ("CROSS", "JOIN"), ("FULL", "JOIN"), ("OUTER", "JOIN"),
         ("SEMI", "JOIN"), ("ANTI", "JOIN"), ("DISTINCT", "FROM")}  # fmt: skip
_CALLS = ("LEFT",)
"""Also functions: with a parenthesis behind them they are no clause."""


def spark(program: Described) -> list[str]:
    lines: list[str] = []
    for name, output in program.outputs.items():
        lines += [f"an epoch of {name}", *(f"  {line}" for line in _jobs(output.vertex)), ""]
    return [*lines, *_batch(compiled({name: output.vertex.root for name, output in program.outputs.items()}, {}))]


def _jobs(plan: VertexPlan) -> Iterator[str]:
    behind = {1: "", 2: " and runs stage 1"}.get(plan.stages, f" and runs stages 1 to {plan.stages - 1}")
    yield "only time moves: no job, it runs in the driver"
    yield f"few rows: one job of one task, which reads{behind}"
    if plan.stages == 1:
        yield "many rows: one job of one stage; tasks read pieces of the inputs and write their part of the output"
        return
    yield "many rows: two jobs"
    yield "  1. one stage: tasks read, run the legs and sort blocks by the hash of the keys; it may read an epoch ahead"
    if plan.stages == 2:
        yield "  2. one stage: each task takes its range of keys, with the state of that range"
    else:
        yield f"  2. {plan.stages - 1} stages with a shuffle between: each task takes its range of keys and its state"


def _batch(query: Query) -> Iterator[str]:
    yield "batch mode runs this Spark SQL"
    for stream, history in query.streams.items():
        yield f"-- {history}: the history of {stream}, with lifetimes _vs and _ve in microseconds"
    for view in query.views:
        kept = ", computed once" if view.kept else ""
        yield f"-- {view.name}: {view.label}{kept}"
        yield f"CREATE TEMPORARY VIEW {view.name} AS"
        yield f"{laid_out(view.sql)};"
    for name, result in query.results.items():
        yield f"SELECT * FROM {result.name};  -- {name}"


def laid_out(sql: str) -> str:
    """The same text with its clauses and sub-queries on lines of their own."""
    text, depth, before = "", 0, ""
    nested: list[bool] = []
    tokens = _TOKEN.findall(sql)
    for number, token in enumerate(tokens):
        word = token.upper()
        following = "".join(tokens[number + 1 : number + 3]).lstrip()
        if token == "(":
            nested.append(following.upper().startswith("SELECT"))
            depth += nested[-1]
        elif token == ")" and nested and nested.pop():
            depth -= 1
        clause = word in _BREAKS and (before, word) not in _STAY and not (word in _CALLS and following[:1] == "(")
        if (clause and all(nested)) or (word == "SELECT" and before in ("(", "ALL")):
            text = text.rstrip() + "\n" + "  " * depth
        if not (token.isspace() and text.endswith((" ", "\n"))):
            text += " " if token.isspace() else token
        if not token.isspace():
            before = word
    return text
