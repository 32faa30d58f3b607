"""Asks a store questions while a program runs on it, from some event of the program on to the last."""

from __future__ import annotations

import itertools
import os
import time

import waterclock as wc
from bench.common import arguments, say
from waterclock.catalog import Catalog


def taken(store: str) -> int:
    catalog = Catalog.open(store)
    try:
        return catalog.streams.get("lines").next if "lines" in catalog.streams.names() else 0
    finally:
        catalog.close()


def main() -> None:
    given = arguments()
    store, questions = given["store"], given["questions"]
    os.nice(10)  # as the command does
    rows = wc.query(store, "SELECT COUNT(*) AS n FROM archive").item()
    assert rows == given["rows"], f"{rows} events in the archive"
    for text in questions.values():
        wc.query(store, text)
    say("ready")
    while taken(store) < given["first"]:
        time.sleep(0.2)
    seconds: dict[str, list[float]] = {name: [] for name in questions}
    began = time.time()
    for name, text in itertools.cycle(questions.items()):
        if taken(store) >= given["last"]:
            break
        at = time.perf_counter()
        wc.query(store, text)
        seconds[name].append(time.perf_counter() - at)
        time.sleep(given["pause"])
    say("answers", seconds=seconds, began=began, ended=time.time())


if __name__ == "__main__":
    main()
