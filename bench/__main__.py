"""``python -m bench [names] [--quick] [--out FILE]``: one engine at a time, each in a process of its own."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import (
    asking,
    bounded,
    growth,
    hopping,
    hotkey,
    join,
    latency,
    memory,
    nexmark,
    operators,
    optimizer,
    overhead,
    rebuild,
    recovery,
    snapshots,
)
from bench.common import REPOSITORY, SUMMARY, ChildFailed, Section, Settled, Table, machine, report
from bench.expected import WrongAnswer

ALGEBRA = {"join": join, "bounded": bounded, "operators": operators, "growth": growth, "memory": memory,
           "hotkey": hotkey, "nexmark": nexmark, "optimizer": optimizer, "recovery": recovery,
           "rebuild": rebuild, "snapshots": snapshots, "asking": asking}  # fmt: skip
NAMES = ("hopping", "latency", "overhead", "idle", *ALGEBRA)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Measures Waterclock and Structured Streaming."
    )
    parser.add_argument("names", nargs="*", help=f"any of: {', '.join(NAMES)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: only shows that everything works")
    parser.add_argument(
        "--out", type=Path, default=None, help="default: bench/RESULTS.md, with --quick bench/data/QUICK.md"
    )
    parser.add_argument("--runs", type=int, default=None, help="runs of each engine and setting (default 3)")
    given = parser.parse_args()
    if unknown := set(given.names) - set(NAMES):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}; choose from {', '.join(NAMES)}")
    names = [name for name in NAMES if not given.names or name in given.names]
    out = given.out or REPOSITORY / "bench" / ("data/QUICK.md" if given.quick else "RESULTS.md")
    throughput, pace = (hopping.QUICK, latency.QUICK) if given.quick else (hopping.FULL, latency.FULL)
    if given.runs is not None:
        throughput, pace = replace(throughput, runs=given.runs), replace(pace, runs=given.runs)
    Settled.wanted = not given.quick
    head = machine()
    remarks = (
        ["Quick run with tiny sizes: it shows that everything works, its figures mean nothing."] if given.quick else []
    )
    began = time.monotonic()
    kept: dict[str, Any] = {}
    sections: list[Section] = []

    def tell(line: str) -> None:
        print(f"[{time.monotonic() - began:6.0f} s] {line}", file=sys.stderr, flush=True)

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the child in hand is ended too
    try:
        for name in names:
            if name == "hopping":
                sections.append(hopping.measure(throughput, tell, kept))
            elif name == "latency":
                sections.append(latency.measure(pace, tell, kept))
            elif name == "overhead":
                sections.append(overhead.measure(throughput, pace, tell, kept))
            elif name == "idle":
                sections.append(overhead.idle(tell))
            else:
                sizes = ALGEBRA[name].QUICK if given.quick else ALGEBRA[name].FULL
                sizes = sizes if given.runs is None else replace(sizes, runs=given.runs)
                sections.append(ALGEBRA[name].measure(sizes, tell))
    except (WrongAnswer, ChildFailed) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    for section in sections:
        print(f"\n{section.title}\n\n{section.table.text()}")
    print(f"\nSummary\n\n{Table(SUMMARY, [line for section in sections for line in section.summary]).text()}")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(report(sections, head, remarks))
    print(f"\nwritten to {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
