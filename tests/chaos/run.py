"""Storm after storm: which program with which harm, how many kills, what came of it."""

from __future__ import annotations

import random
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scripts.postgres import programs as postgres
from tests.chaos.harms import KINDS
from tests.chaos.judge import judge
from tests.chaos.storm import Failed, Storm
from tests.postgres import Server

LOCAL, CLUSTER = "local[2,4]", "local-cluster[2,1,1024]"


@dataclass(frozen=True)
class Scenario:
    program: str
    kind: str
    share: int
    """Of the kills, against the others'."""

    @property
    def name(self) -> str:
        return f"{self.program}/{self.kind}"


SCENARIOS = {
    each.name: each
    for each in (
        Scenario("stateless", "local", 3), Scenario("windows", "local", 4), Scenario("joins", "local", 4),
        Scenario("forty", "local", 3), Scenario("cycle", "local", 2),
        Scenario("windows", "loss", 3), Scenario("joins", "loss", 3), Scenario("cycle", "loss", 2),
        Scenario("stateless", "drivers", 2), Scenario("windows", "drivers", 3), Scenario("joins", "drivers", 2),
        Scenario("cycle", "drivers", 2), Scenario("forty", "drivers", 1),
        Scenario("windows", "server", 3), Scenario("joins", "server", 2),
        Scenario("windows", "spark", 2), Scenario("forty", "spark", 1), Scenario("joins", "cluster", 1),
    )
}  # fmt: skip


@dataclass
class Result:
    scenario: str
    seed: int
    rounds: int
    kills: int
    counts: Counter[str]
    failure: str = ""


def storm(scenario: Scenario, seed: int, kills: int, say: Callable[[str], None], batch: bool) -> Result:
    """One store, harmed until enough was killed; a failure keeps it and says how to see it again."""
    base = Path(tempfile.mkdtemp(prefix=f"chaos-{scenario.program}-{scenario.kind}-{seed}-"))
    server = Server() if scenario.kind == "server" else None
    master = {"spark": LOCAL, "cluster": CLUSTER}.get(scenario.kind)
    found = Storm(scenario.program, seed, 2 * kills + 10, base, say, server=server, master=master)
    result = Result(scenario.name, seed, 0, 0, found.counts)
    kinds = KINDS[scenario.kind]
    draw = random.Random(f"{scenario.name} {seed}")
    try:
        while found.kills < kills:
            found.feed()
            found.look()
            result.rounds += 1
            draw.choices([kind.harm for kind in kinds], [kind.weight for kind in kinds])[0](found)
        found.finish()
        judge(found, batch)
    except Exception as error:
        told = "\n".join(found.story)
        again = f"SEED={seed} KILLS={kills} ONLY={scenario.name} make chaos"
        why = str(error) if isinstance(error, Failed) else traceback.format_exc()
        result.failure = f"{why}\nThe story:\n{told}\nThe store: {base}\nAgain: {again}"
    finally:
        result.kills = found.kills
        found.close(keep=bool(result.failure))
        if server is not None:
            server.remove()
    return result


def plan(kills: int, only: str | None = None) -> list[tuple[Scenario, int]]:
    """So many kills over the scenarios that can run here."""
    chosen = [each for name, each in SCENARIOS.items() if only in (None, name)]
    if postgres() is None:
        chosen = [each for each in chosen if each.kind != "server"]
    if shutil.which("java") is None:
        chosen = [each for each in chosen if each.kind not in ("spark", "cluster")]
    whole = sum(each.share for each in chosen)
    return [(each, max(1, -(-kills * each.share // whole))) for each in chosen]


def table(results: list[Result]) -> str:
    head = f"{'scenario':<20} {'seed':>6} {'rounds':>6} {'kills':>6}  result"
    lines = [head, "-" * len(head)]
    for each in results:
        said = "FAILED" if each.failure else "equal"
        lines.append(f"{each.scenario:<20} {each.seed:>6} {each.rounds:>6} {each.kills:>6}  {said}")
        lines += [f"{'':<20} {number:>6} {what}" for what, number in sorted(each.counts.items()) if number]
    lines.append(f"{sum(each.kills for each in results)} kills, {sum(bool(each.failure) for each in results)} failures")
    return "\n".join(lines)
