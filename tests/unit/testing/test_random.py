"""Whatever a test does, it is told nothing wrong: the reference and chaos agree with what came out."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import waterclock as wc
from waterclock.testing import TestStream
from waterclock.time import instant

COLUMNS = {"k": str, "x": int, "ts": "timestamp", "until": "timestamp"}
TEN = instant("2026-01-05T10:00:00Z")
Build = Callable[[wc.App, wc.Stream, wc.Stream], Any]


def chained(app: wc.App, a: wc.Stream, b: wc.Stream) -> None:
    a.group_by("k").tumbling("10s").agg(n=wc.count()).into("out")
    app.read("out").group_by("n").tumbling("20s").agg(windows=wc.count()).into("behind")


PROGRAMS: dict[str, tuple[Build, dict[str, Any]]] = {
    "hopping": (
        lambda app, a, b: a.group_by("k").hopping("10s", "5s").agg(n=wc.count(), f=wc.first("x"), l=wc.last("x")),
        {"late": "adjust"},
    ),
    "snapshot": (lambda app, a, b: a.group_by("k").snapshot().agg(n=wc.count(), m=wc.max("x")), {"late": "divert"}),
    "join": (lambda app, a, b: a.join(b, on="k", how="left"), {}),
    "session": (lambda app, a, b: a.union(b).group_by("k").session("5s").agg(x=wc.collect_list("x")), {}),
    "idle": (lambda app, a, b: a.tumbling("10s").agg(n=wc.count()), {"idle": "20s"}),
    "time from another": (lambda app, a, b: a.join(b, on="k", how="anti"), {"time_from": "b"}),
    "times in the data": (lambda app, a, b: a.group_by("k").tumbling("5s").agg(n=wc.count()), {"cti": "until"}),
    "chained": (chained, {}),
}


def rows(chance: random.Random, at: int, few: int) -> list[dict[str, Any]]:
    found = []
    for _ in range(chance.randrange(1, few)):
        start = at + chance.randrange(-4_000_000, 8_000_000)
        until = None if chance.random() < 0.1 else start + chance.randrange(1, 20_000_000)
        found.append({"k": chance.choice("uvw"), "x": chance.randrange(5), "ts": start, "until": until})
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_reference_and_chaos_agree(name: str) -> None:
    build, options = PROGRAMS[name]
    chance = random.Random(name)
    end = {} if "cti" in options else {"end": "until"}
    slack = {} if "cti" in options else {"slack": "3s"}

    def program() -> wc.App:
        app = wc.App("random", allow_unbounded=True)
        a = app.stream("a", COLUMNS, time="ts", **{"late": "drop", **slack, **end, **options})
        b = app.stream("b", COLUMNS, time="ts", end="until", slack="3s", late="drop")
        made = build(app, a, b)
        if made is not None:
            made.into("out")
        return app

    with TestStream(program) as ts:
        at = TEN
        for _ in range(4):
            ts.feed("a", rows(chance, at, 6)).feed("b", rows(chance, at, 4))
            if chance.random() < 0.4:
                ts.wait(seconds=25)
            at = max(at + 8_000_000, ts._playing.now or 0)
            if chance.random() < 0.4 and "cti" not in options:
                ts.advance(at)
            ts.rows("out")
            ts.expect_same_as_reference()
        ts.end().expect_same_as_reference().chaos(times=4)
