"""What a batch run or a question on Spark does now. What steps will follow is not known, only how far this one is."""

from __future__ import annotations

import sys
from typing import NamedTuple


class Step(NamedTuple):
    what: str
    done: int
    total: int
    unit: str


_reading: Step | None = None


def read(stream: str, done: int, total: int) -> None:
    """So many rows of a stream are ready for Spark."""
    global _reading
    _reading = Step(f"reading {stream}", done, total, "rows") if done < total else None


def step() -> Step | None:
    """None where nothing is to be said: between steps, and where Spark is not used."""
    if _reading is not None:
        return _reading
    if "pyspark" not in sys.modules:  # to load it takes longer than most answers
        return None
    from waterclock.batch.spark.stages import running

    return running()
