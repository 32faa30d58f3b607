"""One page about a program: for each output its plan, what it remembers, and what it promises."""

from __future__ import annotations

from waterclock.explain.physical import promises
from waterclock.explain.plans import costed
from waterclock.explain.program import Described


def page(program: Described) -> list[str]:
    asked = [name for name, output in program.outputs.items() if not output.shared]
    counts = [
        _count(len(part), what)
        for part, what in ((program.streams, "stream"), (program.tables, "table"), (asked, "output"))
        if part
    ]
    lines = [f"app {program.app}: {', '.join(counts)}"]
    for name, output in program.outputs.items():
        shared = " that outputs share" if output.shared else ""
        lines += ["", f"{name} ({output.written.schema}){shared}", "  plan"]
        lines += [f"    {line}" for line in costed(output.vertex.root, output.statistics)]
        lines += promises(program, name)
    return lines


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
