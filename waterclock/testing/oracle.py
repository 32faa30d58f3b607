"""What the definitions say that each output must have given by now: the slow evaluator, over the events taken."""

from __future__ import annotations

from collections.abc import Mapping

from waterclock.errors import ConfigError
from waterclock.plan import Node, WindowAggregate
from waterclock.plan.rebuild import parts_of
from waterclock.reference import Event, final, fixpoint
from waterclock.reference.evaluate import streams_of
from waterclock.schema import VE, VS
from waterclock.testing.player import Player


def reference(player: Player) -> dict[str, list[Event]]:
    """By output. Once everything has ended, of the queries as they are written; before, what is final by then and how
    far time has come follow from the plans that run, which may know both earlier."""
    roots = _roots(player)
    for name, root in roots.items():
        if is_early(root):
            raise ConfigError("TEST.NO_REFERENCE", output=name)
    streams = player.catalog.streams
    inputs: dict[str, list[Event]] = {}
    ctis: dict[str, int] = {}
    seen: dict[str, int] = {}
    for name in set().union(*(streams_of(root) for root in roots.values())) - roots.keys():
        rows = player.frame(name).iter_rows(named=True)
        inputs[name] = [(row.pop(VS), row.pop(VE), row) for row in rows]
        ctis[name], seen[name] = streams.get(name).cti, streams.last_finite_cti(name)
    done: dict[str, list[Event]] = {}
    while len(done) < len(roots):
        for name, root in roots.items():
            above = (streams_of(root) & roots.keys()) - {name}
            if name not in done and above <= done.keys():
                cyclic = name in streams_of(root)
                found = fixpoint(name, root, inputs, ctis) if cyclic else final(root, inputs, ctis, seen)
                done[name], ctis[name] = found
                inputs[name] = done[name]
                seen[name] = streams.last_finite_cti(name)
    return {name: done[name] for name in player.program.outputs}


def _roots(player: Player) -> Mapping[str, Node]:
    rows = [player.catalog.streams.get(name) for name in player.program.streams]
    if all(row.ended for row in rows):
        return {name: plan.root for name, (plan, _) in player.program.outputs.items()}
    return {name: plan.root for name, plan in player.program.plans(player.catalog).items()}


def is_early(root: Node) -> bool:
    """Whether results come before they are final: which ones, depends on how epochs were cut."""
    return any(isinstance(part, WindowAggregate) and part.early > 0 for part in parts_of(root))
