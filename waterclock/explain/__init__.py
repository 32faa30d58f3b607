"""Programs explained, stage by stage: from the text to what Spark runs."""

from __future__ import annotations

from waterclock.errors import ConfigError
from waterclock.explain.bound import bound
from waterclock.explain.page import page
from waterclock.explain.parsed import parsed
from waterclock.explain.physical import drawn, physical
from waterclock.explain.plans import logical, optimized
from waterclock.explain.program import Described, Output
from waterclock.explain.rules import connector
from waterclock.explain.spark import spark
from waterclock.plan.drawing import picture_of, svg

STAGES = ("parsed", "bound", "logical", "optimized", "physical", "spark")

__all__ = ["STAGES", "Described", "Output", "drawing", "explained"]


def explained(program: Described, stage: str | None = None) -> str:
    """A stage as text; without one, the page that says it all in short."""
    if stage is not None and stage not in STAGES:
        raise ConfigError("CONFIG.BAD_OPTION", option="stage", value=stage, fix=f"Choose one of: {', '.join(STAGES)}.")
    if stage in ("parsed", "bound") and not program.texts:
        head = f"{stage} is a stage of programs in SQL; this is logical"
        return "\n".join([head, "", *logical(program)])
    if stage == "parsed":
        return "\n\n".join("\n".join(parsed(text)) for text in program.texts)
    stages = {"bound": bound, "logical": logical, "optimized": optimized, "physical": physical, "spark": spark}
    return "\n".join(page(program) if stage is None else stages[stage](program))


def drawing(program: Described, stage: str | None = None) -> str:
    """The same as SVG: the plan as it was written (parsed, bound, logical), as it is after the rules, or what runs."""
    if stage in ("physical", "spark"):
        return svg([drawn(name, output) for name, output in program.outputs.items()])
    if stage in ("parsed", "bound", "logical"):
        roots = {name: output.written for name, output in program.outputs.items() if not output.shared}
    else:
        roots = {name: output.vertex.root for name, output in program.outputs.items()}
    notes = {name: connector(o.sink) for name, o in program.outputs.items() if o.sink is not None}
    return svg([picture_of(roots, notes)])
