"""The same steps again, disturbed: other cuts and orders where they must not matter, and crashes anywhere."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from waterclock.declared import Declared
from waterclock.errors import WaterclockError
from waterclock.schema import VS
from waterclock.streams.segment import with_lifetime
from waterclock.testing.differences import difference
from waterclock.testing.oracle import is_early
from waterclock.testing.player import REACHED, Player
from waterclock.testing.steps import Crash, Feed, Look, Step
from waterclock.testing.times import Times
from waterclock.testing.values import Expected, events_of

CUTS = (1, 2, 3, 7, None)
"""Rows that an epoch takes at most."""


def disturbed(program: Declared, steps: Sequence[Step], times: Times, folder: Path, seed: str) -> str | None:
    """Plays the steps once more, as ``seed`` says. None, or what an output has given instead and what was done."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        run = Disturbed(program, Path(own), Random(seed))
        try:
            wrong = run.play(list(steps), times)
        except WaterclockError as error:
            wrong = f"the program failed: {error}"
        finally:
            run.player.close()
    return None if wrong is None else "\n".join([wrong, "What was done:", *(f"  {step}" for step in run.said)])


class Disturbed:
    def __init__(self, program: Declared, folder: Path, chance: Random) -> None:
        declarations = [declaration for declaration, _ in program.streams.values()]
        self._program = program
        self._chance = chance
        self._early = any(is_early(plan.root) for plan, _ in program.outputs.values())
        """What is given before it is final follows from how rows and epochs are cut."""
        self._by_itself = any(each.time_from is not None or each.idle is not None for each in declarations)
        """Time also follows from what was computed when: it decides what is late."""
        epoch_rows = None if self._early else chance.choice(CUTS)
        self.said = [] if epoch_rows is None else [f"at most {epoch_rows} rows an epoch"]
        """What was done, step by step."""
        self.player = Player(program, folder, epoch_rows)

    def play(self, steps: list[Step], times: Times) -> str | None:
        for step in self._reordered(steps):
            if not isinstance(step, Look):
                for part in self._cut(step):
                    self._do(part)
                continue
            self.player.settle()
            frame = self.player.frame(step.output)
            schema = self.player.catalog.streams.get(step.output).declaration.schema
            text = difference(events_of(frame), Expected(schema.names, True, list(step.found)), schema, times)
            if text is not None:
                return f"{step.output} differs: {text}"
        return None

    def _do(self, step: Step) -> None:
        chance = self._chance
        if isinstance(step, Crash) or chance.random() < 0.15:
            self.player.do(Crash())
            self.said.append("crash")
        if isinstance(step, Crash):
            return
        place = chance.choice(REACHED) if chance.random() < 0.5 else None
        settle = self._early or self._by_itself or chance.random() < 0.7
        self.said.append(f"{step}{'' if settle else ', nothing computed yet'}")
        if self.player.do(step, place, settle):
            self.said[-1] += f", crash at {place}"

    def _reordered(self, steps: list[Step]) -> list[Step]:
        """Feeds of different streams with nothing between them come in any order."""
        if self._early or self._by_itself:
            return steps
        for at in range(len(steps) - 1):
            one, other = steps[at], steps[at + 1]
            apart = isinstance(one, Feed) and isinstance(other, Feed) and one.stream != other.stream
            if apart and self._chance.random() < 0.5:
                steps[at], steps[at + 1] = other, one
        return steps

    def _cut(self, step: Step) -> list[Step]:
        """Rows that come together have no order. They may also come in two parts, one behind the other in time:
        otherwise the first would make the second late."""
        if not isinstance(step, Feed) or self._early or step.rejected or step.rows.height < 2:
            return [step]
        declaration = self._program.streams[step.stream][0]
        if (
            declaration.cti is not None or declaration.on_bad == "divert"
        ):  # it binds what comes behind it; bad rows have numbers
            return [step]
        order = self._chance.sample(range(step.rows.height), step.rows.height)
        mixed = replace(step, rows=step.rows[order])
        if declaration.max_jump is not None or self._chance.random() < 0.5:
            return [mixed]
        starts = with_lifetime(mixed.rows.lazy(), declaration).select(VS).collect().to_series()
        before = (starts < self._chance.choice(starts.to_list())).fill_null(True)
        parts = [replace(step, rows=mixed.rows.filter(flags)) for flags in (before, ~before)]
        return [part for part in parts if part.rows.height]
