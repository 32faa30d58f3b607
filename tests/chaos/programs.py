"""What storms run: a program is its feeds, what arrives in them, and its queries. A new one is a line in PROGRAMS."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import waterclock as wc
from waterclock.errors import ConfigError
from waterclock.explain.program import lives_of
from waterclock.optimizer import Statistics
from waterclock.optimizer.recovery import chosen
from waterclock.plan.strategy import Strategy

sys.path.append(str(Path(__file__).parents[2] / "examples"))
import fraud  # type: ignore[import-not-found,unused-ignore]

Streams = Mapping[str, wc.Stream]
Give = Callable[[str, wc.Stream], None]
Parts = dict[str, list[pl.DataFrame]]
"""By stream, what arrives in it, piece after piece."""
START = 1_700_000_000_000_000
STEP = 100_000
EVENTS = {"n": int, "user": str, "amount": int, "ts": "bigint", "until": "bigint"}
LIFE = {"time": "ts", "end": "until", "slack": "2s", "late": "divert"}


@dataclass(frozen=True)
class Feed:
    """How rows come into a stream: pushed by a process of their own, or as files that appear."""

    how: str
    schema: Mapping[str, object]
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Program:
    feeds: Mapping[str, Feed]
    rows: Callable[[int, int], Parts]
    """Of a seed and a number of parts."""
    query: Callable[[wc.App, Streams, Give], None]
    """Gives its outputs, each with its name."""
    filtered: tuple[str, str, str] | None = None
    """An output that no other one reads, a stream it reads, and a condition for what it may leave out."""
    whole: bool = True
    """No stream forgets: batch mode can be asked."""


def events(seed: int, parts: int, names: tuple[str, ...], size: int = 40) -> Parts:
    """Out of order, some so late that they are not taken, some open-ended, some twice but for their number."""
    made: Parts = {}
    for name in names:
        draw = random.Random(f"{seed} {name}")
        made[name] = []
        for part in range(parts):
            rows = []
            for n in range(part * size, (part + 1) * size):
                behind = draw.randrange(0, 1_500_000) if draw.random() > 0.03 else draw.randrange(3_000_000, 30_000_000)
                start = START + n * STEP - behind
                end = None if draw.random() < 0.004 else start + draw.randrange(1, 6_000_000)
                rows.append((n, f"u{draw.randrange(13)}", draw.randrange(-500, 500), start, end))
            made[name].append(
                pl.DataFrame(
                    rows,
                    {"n": pl.Int64, "user": pl.String, "amount": pl.Int64, "ts": pl.Int64, "until": pl.Int64},
                    orient="row",
                )
            )
    return made


# -- stateless ---------------------------------------------------------------------------------------------


@wc.function(returns="bigint", per_row=True)
def share(amount: int) -> int:
    return 1000 // (amount % 9)


def stateless(app: wc.App, streams: Streams, give: Give) -> None:
    amount = wc.col("amount")
    pushed, filed = streams["pushed"], streams["filed"]
    give("picky", filed.select("n", share=share("amount")).on_error("dead_letter"))
    give("big", pushed.filter(amount > -300).with_columns(twice=amount * 2).drop("amount"))
    give("both", pushed.select("n", "user").union(filed.filter(amount < 0).select("n", "user")))


# -- windows -----------------------------------------------------------------------------------------------


def windowed(app: wc.App, streams: Streams, give: Give) -> None:
    filed, pushed = streams["filed"], streams["pushed"]
    sums = {"n": wc.count(), "total": wc.sum("amount"), "top": wc.max("amount")}
    give("tumbling", filed.group_by("user").tumbling("2s").agg(**sums))
    give("hopping", pushed.group_by("user").hopping("3s", "1s", result="window").agg(**sums))
    give("sessions", pushed.group_by("user").session("1s").agg(n=wc.count(), top=wc.max("amount")))
    # Of events whose length the plan knows: their state may be had by a replay.
    give("brief", pushed.set_duration("1s").group_by("user").hopping("2s", "1s").agg(**sums))
    give("totals", app.read("tumbling").filter(wc.col("n") > 1).tumbling("4s").agg(users=wc.count()))


# -- joins of five kinds -----------------------------------------------------------------------------------


def joins(app: wc.App, streams: Streams, give: Give) -> None:
    left, right = streams["filed"].drop("ts", "until"), streams["pushed"].drop("ts", "until")
    other = right.filter(wc.col("amount") > 250).select("user", other=wc.col("amount"))
    some = left.filter(wc.col("amount") > 0)
    give("inner", some.join(other, on="user"))
    give("outer", some.join(other, on="user", how="left"))
    give("semi", some.semi_join(other, on="user"))
    give("anti", some.anti_join(other, on="user"))
    give("brief", some.set_duration("2s").join(other.set_duration("1s"), on="user"))
    give("clip", some.clip_join(right.filter(wc.col("amount") < -400), on="user"))


# -- a cycle -----------------------------------------------------------------------------------------------


def cycle(app: wc.App, streams: Streams, give: Give) -> None:
    """Who got money from a suspect is one too, half a second later, as long as it lasts."""
    sent = streams["filed"].set_duration("800ms").select("user", to="to")

    def spread(loop: wc.Stream) -> wc.Stream:
        return loop.join(sent, on="user").select(user="to", origin="origin").distinct().shift("500ms")

    reported = streams["pushed"].filter(wc.col("amount") > 350).set_duration("400ms")
    suspects = reported.select("user", origin="user").iterate(spread, name="suspects")
    give("found", suspects.group_by("user").tumbling("2s").agg(n=wc.count()))
    give("late", suspects.filter(wc.col("user") != wc.col("origin")))


def _sent(seed: int, parts: int) -> Parts:
    made = events(seed, parts, ("filed", "pushed"), 20)
    made["filed"] = [frame.with_columns(to=pl.format("u{}", pl.col("amount").abs() % 13)) for frame in made["filed"]]
    return made


# -- forty operators ---------------------------------------------------------------------------------------


def forty(app: wc.App, streams: Streams, give: Give) -> None:
    refunds, per_minute = fraud.query(app, streams)
    give("refunds", refunds)
    give("per_minute", per_minute)


def clicks(seed: int, parts: int) -> Parts:
    """Of the example, a part shuffled, and some rows three parts late."""
    made: Parts = {}
    draw = random.Random(seed)
    for name, frame in fraud.rows(12 * parts, seed).items():
        size = -(-frame.height // parts)
        pieces = [list(range(part * size, min(frame.height, (part + 1) * size))) for part in range(parts)]
        for part in range(parts - 3):
            if pieces[part] and draw.random() < 0.1:
                pieces[part + 3].append(pieces[part].pop())
        for piece in pieces:
            draw.shuffle(piece)
        made[name] = [frame[piece] for piece in pieces]
    return made


_TIMES = {"ts": "timestamp"}
_SLACK = {"time": "ts", "slack": "10s", "late": "divert"}
FORTY = {
    "shown": Feed("jsonl", {"user": int, "ad": int, **_TIMES}, {**_SLACK, "late": "drop"}),
    "clicks": Feed("push", {"click": int, "user": int, "ad": int, "ip": int, "agent": str, **_TIMES}, _SLACK),
    "sales": Feed("parquet", {"user": int, "ad": int, "amount": int, **_TIMES}, _SLACK),
    "reports": Feed("push", {"ip": int, **_TIMES, "until": "timestamp"}, {**_SLACK, "end": "until"}),
}
PUSHED = Feed("push", EVENTS, LIFE)


def _two(seed: int, parts: int) -> Parts:
    return events(seed, parts, ("filed", "pushed"))


PROGRAMS = {
    "stateless": Program(
        {"filed": Feed("parquet", EVENTS, LIFE), "pushed": PUSHED}, _two, stateless, ("big", "pushed", "n % 7 = 3")
    ),
    "windows": Program(
        {"filed": Feed("jsonl", EVENTS, {**LIFE, "late": "drop", "retention": "10s"}), "pushed": PUSHED},
        _two, windowed, ("hopping", "pushed", "n % 5 = 1"), whole=False,
    ),
    "joins": Program({"filed": Feed("jsonl", EVENTS, LIFE), "pushed": PUSHED}, _two, joins, ("semi", "filed", "n % 5 = 1")),  # noqa: E501
    "forty": Program(FORTY, clicks, forty),
    "cycle": Program(
        {"filed": Feed("jsonl", {**EVENTS, "to": str}, LIFE), "pushed": PUSHED},
        _sent, cycle, whole=False,  # batch mode starts queries for every trip
    ),
}  # fmt: skip


def build(
    name: str, folder: Path, store: Path, *, watch: bool = True, sinks: bool = True,
    pushed: Collection[str] = (), recovery: int | None = None,
    **options: Any,
) -> wc.App:  # fmt: skip
    """The program over what arrives in ``folder``; the streams ``pushed`` take pushes alone.

    ``recovery`` is a seed for how each output gets lost state back."""
    program = PROGRAMS[name]
    app = wc.App(name, store, epoch_rows=150, allow_unbounded=True, **options)
    streams: dict[str, wc.Stream] = {}
    for stream, found in program.feeds.items():
        how = "push" if stream in pushed else found.how
        source = None if how == "push" else wc.files(arriving(folder, stream), how, watch=watch)
        streams[stream] = app.stream(stream, found.schema, source=source, **found.options)
    outputs: list[str] = []

    def give(output: str, found: wc.Stream) -> None:
        outputs.append(output)
        target = folder / "delivered" / output
        if not sinks:
            found.into(output)
        elif len(outputs) % 2:
            found.to(wc.jsonl(target.with_suffix(".jsonl")), name=output)
        else:
            found.to(wc.parquet(target, batch_seconds=0.05), name=output)

    program.query(app, streams, give)
    if recovery is not None:
        app._recovery.update(strategies(app, recovery))
    return app


def strategies(app: wc.App, seed: int) -> dict[str, Strategy]:
    """Any that the plan allows, or none."""
    declared = app._declared
    lives = lives_of(declared.streams, {name: plan.root for name, (plan, _) in declared.outputs.items()})
    found: dict[str, Strategy] = {}
    for name, (plan, _) in declared.outputs.items():
        draw = random.Random(f"{seed} {name}")
        wanted = draw.choice((wc.checkpoint("1h"), wc.checkpoint(epochs=3), wc.replay(), wc.replicate(), None))
        with suppress(ConfigError):  # PLAN.NO_REPLAY
            if wanted is not None:
                chosen(plan, wanted, lives, Statistics())
                found[name] = wanted
    return found


def arriving(folder: Path, stream: str) -> Path:
    return folder / "arrived" / stream
