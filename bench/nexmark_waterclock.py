"""Nexmark's queries on Waterclock: the programs of examples/nexmark, one after another in one process."""

from __future__ import annotations

import re
from pathlib import Path

import waterclock as wc
from bench.common import MASTER, REPOSITORY, arguments, say
from bench.drain import drain

PROGRAMS = REPOSITORY / "examples" / "nexmark"


def inputs(query: str) -> tuple[str, ...]:
    """The kinds of events that a program reads, and ``side``, by its parameters."""
    return tuple(re.findall(r"files\(:(\w+)\)", (PROGRAMS / f"{query}.sql").read_text()))


def declare(query: str, folder: Path, store: Path, epoch_rows: int) -> wc.App:
    names = {"side": "side_input.csv"}
    params = {name: str(folder / names.get(name, name)) for name in inputs(query)}
    return wc.sql(PROGRAMS / f"{query}.sql", params, store=store, epoch_rows=epoch_rows, master=MASTER)


def main() -> None:
    given = arguments()
    folder, stores = Path(given["folder"]), Path(given["stores"])
    seen = {
        query: drain(declare(query, folder, stores / query, given["epoch_rows"][query]), Path(given["log"]), query)
        for query in given["queries"]
    }
    say("result", queries=seen)


if __name__ == "__main__":
    main()
