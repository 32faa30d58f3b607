"""``make chaos``: storms on real processes. SEED, KILLS and ONLY (a scenario) come from the environment."""

from __future__ import annotations

import os
import sys
import time

MOST = 40
"""Kills a store: then the next one, with the next seed."""


def main() -> int:
    from tests.chaos.run import plan, storm, table

    seed = int(os.environ.get("SEED") or time.time()) % 1_000_000
    kills = int(os.environ.get("KILLS") or 500)
    only = os.environ.get("ONLY") or None
    print(f"chaos: {kills} kills, SEED={seed}", flush=True)
    began, results = time.monotonic(), []
    for scenario, share in plan(kills, only):
        at, left = seed, share
        while left > 0:
            done = sum(each.kills for each in results)

            def say(what: str, at: int = at, done: int = done, name: str = scenario.name) -> None:
                print(
                    f"{time.monotonic() - began:7.1f} s  {done:>4} kills before  {name} seed {at}, {what}", flush=True
                )

            found = storm(scenario, at, min(left, MOST) if only is None else left, say, batch=True)
            results.append(found)
            if found.failure:
                print(f"FAILED {scenario.name} seed {at}\n{found.failure}", flush=True)
            left, at = left - found.kills, at + 1
            if found.failure:
                break
    print(table(results))
    return int(any(each.failure for each in results))


if __name__ == "__main__":
    sys.exit(main())
