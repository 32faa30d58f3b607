"""Batch mode: every operator, aggregate and function as Spark SQL gives what the reference gives."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import waterclock as wc
from tests.conftest import SPARK
from waterclock import plan as p
from waterclock.batch.compile import compiled
from waterclock.batch.handle import BatchHandle
from waterclock.batch.history import History
from waterclock.batch.spark.session import answer, session
from waterclock.catalog import Catalog
from waterclock.expr.nodes import call
from waterclock.plan.aggregate import AGGREGATES
from waterclock.plan.window import RESULTS, Window
from waterclock.reference import Event, bag_difference, evaluate, logical_difference
from waterclock.schema import VE, VS, Schema
from waterclock.time import FOREVER

pytestmark = pytest.mark.spark

SCHEMA = Schema.of({"g": "int", "k": "string", "x": "int", "b": "bigint", "y": "double"})
"""``g`` tells worlds apart: each is a small random stream of its own."""
WORLDS = 25
SEEN = {"s0": 31, "s1": 24}

QUICK = {
    **SPARK,
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}
"""Many tiny queries: planning and compiling them would take most of the time."""

Answers = Callable[[dict[str, p.Node]], dict[str, list[Event]]]


def random_events(seed: int, open_ends: bool = True) -> list[Event]:
    """Small ranges, so that borders and collisions are common."""
    rng = random.Random(seed)
    found: list[Event] = []
    for world in range(WORLDS):
        for _ in range(rng.randrange(0, 11)):
            vs = rng.randrange(-20, 21)
            ve = rng.choice([vs + 1, vs + 1 + rng.randrange(30), FOREVER if open_ends else vs + 3])
            payload = {
                "g": world,
                "k": rng.choice(["a", "b", "日本", "", None]),
                "x": rng.choice([None, *range(-4, 5)]),
                "b": rng.choice([None, 2**62, -(2**61), *range(3)]),
                "y": rng.choice([None, math.nan, math.inf, *(n / 4 for n in range(-8, 8))]),
            }
            found += [(vs, ve, payload)] * rng.choice([1, 1, 1, 2])
    return found


SCHEMAS = {"s0": SCHEMA, "s1": SCHEMA, "ended": SCHEMA}
STREAMS = {"s0": random_events(1), "s1": random_events(2), "ended": random_events(3, open_ends=False)}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    folder = tmp_path_factory.mktemp("batch")
    histories = {}
    for name, events in STREAMS.items():
        rows = [{VS: vs, VE: ve, **payload} for vs, ve, payload in events]
        path = folder / f"{name}.parquet"
        pl.DataFrame(rows, schema=SCHEMAS[name].frame_schema()).write_parquet(path)
        histories[name] = History(len(rows), [str(path)], [], SCHEMAS[name].names, "")

    def run(plans: dict[str, p.Node]) -> dict[str, list[Event]]:
        with session("test", "local[2,4]", QUICK) as own:
            frames = answer(own, compiled(plans, SEEN), histories, plans)
        return {name: as_events(frame) for name, frame in frames.items()}

    return run


def as_events(frame: pl.DataFrame) -> list[Event]:
    return [(row.pop(VS), row.pop(VE), row) for row in frame.iter_rows(named=True)]


def rounded(events: list[Event]) -> list[Event]:
    """Sums of doubles depend on their order; nine digits do not."""

    def value(v: Any) -> Any:
        if isinstance(v, float) and math.isfinite(v):
            return float(f"{v:.9g}")
        if isinstance(v, list):
            return tuple(("NaN",) if isinstance(e, float) and math.isnan(e) else value(e) for e in v)
        return v

    return [(vs, ve, {name: value(v) for name, v in payload.items()}) for vs, ve, payload in events]


def check(answers: Answers, plans: dict[str, p.Node], bags: bool = True) -> None:
    """Bag equality, or logical equality only."""
    differs = bag_difference if bags else logical_difference
    wrong = []
    for name, found in answers(plans).items():
        expected = evaluate(plans[name], STREAMS, SEEN)
        assert expected, f"{name} shows nothing"
        difference = differs(rounded(found), rounded(expected))
        if difference:
            wrong.append(f"{name}:\n{difference}")
    assert not wrong, "\n".join(wrong)


def source(name: str = "s0") -> p.Input:
    return p.Input(name, SCHEMA, False, may_be_open=name != "ended")


def points(name: str = "s0") -> p.Node:
    return p.SetDuration(source(name), 1)


X, Y, K, B, G = (wc.col(name) for name in "xykbg")

# -- event by event ----------------------------------------------------------------------------------------


def test_stateless(answers: Answers) -> None:
    micros = wc.start().unix_micros()
    check(
        answers,
        {
            "filter": p.Filter(source(), (X > 1) | K.is_null()),
            "project": p.Project(source(), (("z", X + 1), ("nothing", wc.lit(None)), ("k", K), ("at", micros))),
            "explode": p.Explode(source(), "e", wc.array(X, X + 1, None)),
            "explode over": p.Explode(source(), "k", wc.split(K, "")),
            "union": p.Union((source(), p.Filter(source("s1"), X > 0), source())),
        },
    )


def test_lifetimes(answers: Answers) -> None:
    micros = wc.start().unix_micros()
    plans: dict[str, p.Node] = {
        "shift": p.Shift(source(), 7),
        "shift back": p.Shift(source(), -7),
        "set": p.SetDuration(source(), 5),
        "set for ever": p.SetDuration(source(), FOREVER),
        "set by expression": p.SetDuration(source(), X),
        "extend": p.Extend(source(), 5),
        "shorten": p.Extend(source(), -5),
        "clip": p.ClipDuration(source(), 4),
        "point at end": p.PointAtEnd(source()),
        "quantize": p.Quantize(source(), 5, 3, 1),
        "quantize with progress": p.Quantize(source(), 7, 4, -3, 5),
        "hop": p.HopLifetime(source(), 6, 3, 1),
        "hop with gaps": p.HopLifetime(source(), 2, 5, -1),
        "hop uneven": p.HopLifetime(source(), 7, 3),
        "alter": p.AlterLifetime(source(), (micros * 2).floor_to(3), wc.coalesce(X, 9)),
        "alter for ever": p.AlterLifetime(source(), micros + 1, X),
        "chop": p.Chop(source(), 7, 2),
        "chop ended": p.Chop(source("ended"), 4, -1),
        "chop behind shift": p.Chop(p.Shift(p.Filter(source(), X > 3), 40), 10),
    }
    check(answers, plans)


def test_stitch_and_distinct(answers: Answers) -> None:
    few = p.Project(source(), (("g", G), ("k", K)))
    one = p.Project(source("ended"), (("positive", Y > 0),))
    plans: dict[str, p.Node] = {"stitch": p.Stitch(few), "stitch one": p.Stitch(p.Chop(one, 5))}
    check(answers, plans, bags=False)
    found = answers(plans)
    assert len(found["stitch"]) == len(evaluate(plans["stitch"], STREAMS, SEEN)), "as many chains"
    check(answers, {"distinct": p.Distinct(few), "distinct one": p.Distinct(one)})


# -- windows -----------------------------------------------------------------------------------------------


def every_aggregate(columns: str, where: Any = None) -> tuple[tuple[str, p.Aggregate], ...]:
    """Each function over each of the columns that it takes."""
    found: list[tuple[str, p.Aggregate]] = [("events", p.Aggregate("count", None, where))]
    for function, takes in AGGREGATES.items():
        param = {"percentile_disc": 0.4, "percentile_cont": 0.3, "top_k": 2}.get(function)
        for column in columns:
            if not (takes == "a number" and column == "k") and not (function == "sum" and column == "b"):
                found.append((f"{function}_{column}", p.Aggregate(function, wc.col(column), where, param)))
    return tuple(found)


FEW = (("n", p.Aggregate("count")), ("s", p.Aggregate("sum", X)), ("m", p.Aggregate("last", K)))


def test_aggregates(answers: Answers) -> None:
    window = Window(8, 8)
    plans: dict[str, p.Node] = {
        "windows": p.WindowAggregate(source(), ("g",), every_aggregate("y"), window),
        "windows with conditions": p.WindowAggregate(source(), ("g",), every_aggregate("kb", X > 0), window),
        "snapshots": p.SnapshotAggregate(source(), ("g",), every_aggregate("x", K != "a")),
        "count nothing": p.WindowAggregate(source(), ("g",), (("n", p.Aggregate("count", wc.lit(None))),), window),
        "boolean": p.WindowAggregate(
            source(), ("k",), tuple((f, p.Aggregate(f, X > 0)) for f in ("min", "max", "first", "collect_list")), window
        ),
        "time": p.WindowAggregate(source("ended"), ("k",), (("last", p.Aggregate("max", wc.end())),), window),
        "large": p.WindowAggregate(source("ended"), ("k",), (("s", p.Aggregate("sum", B % 1000)),), window),
    }
    check(answers, plans)


def test_a_sum_that_does_not_fit(answers: Answers) -> None:
    plan = p.WindowAggregate(source(), (), (("s", p.Aggregate("sum", B)),), Window(100, 100, -50))
    with pytest.raises(wc.DataError, match=r"DATA\.OVERFLOW.*sum\(b\)"):
        evaluate(plan, STREAMS, SEEN)
    with pytest.raises(wc.DataError, match=r"DATA\.OVERFLOW.*sum\(b\)"):
        answers({"sum": plan})


def test_windows(answers: Answers) -> None:
    plans: dict[str, p.Node] = {}
    for size, hop, offset in ((5, 5, 0), (7, 3, 2), (2, 6, -3)):
        for result in RESULTS:
            name = f"{size}/{hop}/{offset} {result}"
            plans[name] = p.WindowAggregate(source(), ("g", "k"), FEW, Window(size, hop, offset, result))
    plans["points"] = p.WindowAggregate(points(), ("g",), FEW, Window(6, 6, 1))
    plans["points, hopping"] = p.WindowAggregate(points(), (), FEW, Window(6, 4, 1))
    plans["early"] = p.WindowAggregate(source(), (), FEW, Window(6, 6), 2)
    plans["of windows"] = p.WindowAggregate(
        p.WindowAggregate(source(), ("g",), FEW, Window(5, 5)),
        (),
        (("n", p.Aggregate("sum", wc.col("n"))),),
        Window(9, 4),
    )
    check(answers, plans)


def test_snapshots(answers: Answers) -> None:
    plans: dict[str, p.Node] = {r: p.SnapshotAggregate(source(), ("g", "k"), FEW, r) for r in RESULTS}
    plans["all"] = p.SnapshotAggregate(source("ended"), (), FEW)
    check(answers, plans)


def test_sessions(answers: Answers) -> None:
    plans: dict[str, p.Node] = {}
    for timeout, maximum in ((3, None), (1, None), (4, 5), (6, 3), (9, 20)):
        for result in RESULTS:
            plans[f"{timeout} {maximum} {result}"] = p.SessionAggregate(source(), ("g",), FEW, timeout, maximum, result)
        plans[f"lifetime {timeout} {maximum}"] = p.SessionLifetime(source(), ("g", "k"), timeout, maximum)
    plans["all"] = p.SessionAggregate(p.Filter(source(), X > 3), (), FEW, 2, 7)
    check(answers, plans)


def test_counts(answers: Answers) -> None:
    plans: dict[str, p.Node] = {r: p.CountAggregate(source(), ("g",), FEW, 3, r) for r in RESULTS}
    plans["one"] = p.CountAggregate(source(), ("g",), FEW, 1)
    plans["all"] = p.CountAggregate(source(), (), FEW, 5)
    check(answers, plans)


def test_top_k(answers: Answers) -> None:
    window = Window(6, 4, 1, "hold")
    plans: dict[str, p.Node] = {
        "snapshots": p.TopK(source(), ("g",), Y, 2, rank="rank"),
        "least": p.TopK(source(), ("g",), X, 1, descending=False),
        "all": p.TopK(source("ended"), (), K, 1, rank="rank"),
        "windows": p.TopK(source(), ("g",), Y, 2, rank="rank", window=window),
        "least in windows": p.TopK(source(), (), X + 0, 3, descending=False, window=window),
    }
    check(answers, plans)


# -- joins -------------------------------------------------------------------------------------------------

RIGHT = (("g", "g2"), ("x", "x2"), ("y", "y2"))


@pytest.mark.parametrize("kind", ["inner", "left", "full", "semi", "anti", "clip"])
def test_joins(kind: str, answers: Answers) -> None:
    left, right = source(), source("s1")
    few = p.Filter(source(), G < 4)
    plans: dict[str, p.Node] = {
        "keys": p.Join(kind, left, right, ("g",), ("g",), RIGHT),
        "null keys": p.Join(kind, left, right, ("g", "k"), ("g", "k"), RIGHT),
        "integers of two widths": p.Join(kind, left, right, ("x", "g"), ("b", "g"), RIGHT),
        "residual": p.Join(kind, left, right, ("g",), ("g",), RIGHT, wc.col("x2") < X),
        "no keys": p.Join(kind, few, p.Filter(right, G < 3), (), (), RIGHT),
        "residual only": p.Join(kind, few, right, (), (), RIGHT, wc.col("y2") == Y),
    }
    check(answers, plans)


def test_as_of(answers: Answers) -> None:
    plans: dict[str, p.Node] = {}
    for kind in ("inner", "left"):
        for tolerance in (None, 0, 4):
            plans[f"{kind} {tolerance}"] = p.AsOf(kind, source(), source("s1"), ("g",), ("g",), RIGHT, tolerance)
        plans[f"{kind} null keys"] = p.AsOf(kind, source(), source("s1"), ("k", "g"), ("k", "g"), RIGHT)
        plans[f"{kind} no keys"] = p.AsOf(kind, source(), source("s1"), (), (), RIGHT)
    check(answers, plans)


def test_a_plan_that_is_used_twice(answers: Answers) -> None:
    """Signals with their predecessor, over sessions: deep, and the same sub-plan on both sides."""
    counts = p.SessionAggregate(source(), ("g",), FEW, 3)
    signal = p.Join("clip", p.SetDuration(counts, FOREVER), counts, ("g",), ("g",), ())
    names = (("n", "before"),)
    pairs = p.Join("left", p.SetDuration(counts, 1), p.Shift(signal, 1), ("g",), ("g",), names)
    check(
        answers,
        {"pairs": pairs, "counts": counts, "changes": p.SnapshotAggregate(pairs, (), (("n", p.Aggregate("count")),))},
    )


# -- expressions -------------------------------------------------------------------------------------------

INTS = [None, 0, 1, -1, 7, -7, 2**31 - 1, -(2**31)]
LONGS = [None, 0, 3, -3, 2**63 - 1, -(2**63), 2**31, 10**12]
SINGLES = [None, 0.0, -0.0, 1.5, -2.25, math.inf, math.nan, 2.0**100]
DOUBLES = [None, 0.0, 2.5, -2.5, 1e300, -math.inf, math.nan, 2.0**63, -(2.0**63), 2.0**31, 0.1]
TEXT = [
    None, "", "a.b", " a ", "Straße", "日本,x", "12", "+7", "-012", "12.5", "1e3", ".5", "inf", "NaN", "x1", "9" * 30,
    "true", "T", "0", "yes", "2024-02-29", "2023-02-29", "2024-1-1", "2024-02-29 10:11:12",
    "2024-02-29T10:11:12.123456Z", "2024-02-29 10:11", "😀\\E$a", "a\nb",
]  # fmt: skip
SEPARATORS = ["a", ".", "", None, ",", "\\E"]
DATES = [None, date(1970, 1, 1), date(1969, 12, 31), date(2400, 2, 29)]
INSTANTS = [None, datetime(1970, 1, 1, tzinfo=UTC), datetime(1900, 3, 1, 1, 2, 3, 4, tzinfo=UTC)]


def rows_of(*columns: tuple[str, list[Any]], n: int = 60) -> list[Event]:
    """Every value of each column, in many combinations."""
    rng = random.Random(5)
    return [
        (i, i + 1, {name: values[i] if i < len(values) else rng.choice(values) for name, values in columns})
        for i in range(n)
    ]


STREAMS["numbers"] = rows_of(("i", INTS), ("j", INTS), ("b", LONGS), ("f", SINGLES), ("d", DOUBLES), ("e", DOUBLES))
STREAMS["texts"] = rows_of(
    ("s", TEXT), ("t", SEPARATORS), ("u", [None, b"", b"ab"]), ("o", [True, False, None]), ("a", DATES), ("w", INSTANTS)
)
SCHEMAS["numbers"] = Schema.of({"i": "int", "j": "int", "b": "bigint", "f": "float", "d": "double", "e": "double"})
SCHEMAS["texts"] = Schema.of(
    {"s": "string", "t": "string", "u": "binary", "o": "boolean", "a": "date", "w": "timestamp"}
)


def projected(stream: str, expressions: list[Any]) -> p.Project:
    schema = SCHEMAS[stream]
    return p.Project(p.Input(stream, schema, True), tuple((f"c{n}", e) for n, e in enumerate(expressions)))


def test_numbers(answers: Answers) -> None:
    i, j, b, f, d, e = (wc.col(name) for name in "ijbfde")
    pairs = [(i, j), (i, b), (b, j), (i, f), (d, e), (d, i), (f, d), (i, wc.lit(None)), (b, wc.lit(2))]
    binary = ["add", "subtract", "multiply", "divide", "mod", "eq", "ne", "lt", "le", "gt", "ge"]
    arithmetic: list[Any] = [call(name, *pair) for pair in pairs for name in binary]
    others: list[Any] = [call("div", *pair) for pair in ((i, j), (b, i), (i, b))]
    others += [call(name, value) for name in ("negate", "abs", "is_null") for value in (i, b, f, d)]
    others += [
        i.is_in([1, 7, None]),
        d.is_in([2.5, math.nan]),
        i.is_in([]),
        (b % 10**6).floor_to(7, 3),
        i.ceil_to(7, -3),
    ]
    others += [wc.coalesce(i, b), wc.coalesce(i, d, 0), wc.coalesce(b, f), wc.array(i, b), wc.lit(0.1) + d]
    others += [wc.when(i > 0, i).when(b > 0, d).otherwise(None), wc.when(i.is_null(), 1).otherwise(b)]
    others += [~(i > 0) & (b > 0) | wc.lit(None), wc.start().unix_micros() + i, wc.end().unix_micros()]
    casts: list[Any] = [v.cast(to) for v in (i, b, f, d) for to in ("int", "bigint", "float", "double", "boolean")]
    casts += [i.cast("string"), b.cast("string"), wc.array(i, b).cast("array<bigint>")]
    check(
        answers,
        {"arithmetic": projected("numbers", arithmetic), "others": projected("numbers", others + casts)},
    )


def test_texts(answers: Answers) -> None:
    s, t, u, o, a, w = (wc.col(name) for name in "stuoaw")
    found: list[Any] = [call(name, s) for name in ("lower", "upper", "trim", "length")]
    found += [call(name, s, t) for name in ("contains", "startswith", "endswith", "concat", "eq", "lt")]
    found += [s.cast(to) for to in ("int", "bigint", "float", "double", "boolean", "date", "binary", "timestamp")]
    found += [s == "it's \\ ${a}", s < "日", u == b"ab", o == True, o < False]  # noqa: E712
    found += [o.cast("int"), o.cast("double"), o.cast("string"), a.cast("string"), a.cast("timestamp"), w.cast("date")]
    found += [a < w, a == date(1970, 1, 1), w > datetime(1950, 1, 1), w.unix_micros(), w.cast("bigint"), wc.lit(None)]
    found += [wc.start(), wc.end(), wc.coalesce(t, s), wc.split(s, "a")]
    check(answers, {"functions": projected("texts", found)})


# -- apps --------------------------------------------------------------------------------------------------


def build(app: wc.App, got: list[pl.DataFrame]) -> wc.SourceStream:
    users = app.table(
        "users", {"user": str, "city": str}, [{"user": "u1", "city": "Oslo"}, {"user": "u2", "city": "Rom"}]
    )
    schema = {"user": str, "n": int, "ts": "bigint", "until": "bigint"}
    source = app.stream("clicks", schema, time="ts", end="until", max_ahead=None, slack=100)
    app.stream("nothing", {"n": int, "ts": "bigint"}, time="ts", max_ahead=None).into("silent")
    per_user = source.join(users, on="user").group_by("user", "city").hopping("20us", "10us", result="window")
    per_user.agg(n=wc.count(), s=wc.sum("n")).into("per_user")
    app.read("per_user").tumbling("40us").agg(n=wc.sum("n")).to(wc.callback(lambda _, rows: got.append(rows)), "totals")
    return source


def clicks(n: int) -> list[dict[str, Any]]:
    ends = [None if i % 17 == 0 else i + 1 + i % 13 for i in range(n)]
    return [{"user": f"u{i % 4}", "n": i, "ts": i, "until": ends[i]} for i in range(n)]


def test_an_app(make_app: Callable[..., wc.App], tmp_path: Path) -> None:
    """As the same app gives it in process; the sink gets one epoch and the store stays as it is."""
    got: list[pl.DataFrame] = []
    app = make_app()
    source = build(app, got)
    source.push(clicks(60))
    source.push(clicks(90)[60:])
    source.end()
    handle = app.run(mode="batch")
    assert handle.wait()
    assert handle.state == "finished"
    assert handle.status().vertices[-1].rows_out == handle.frame("totals").height > 0
    assert handle.frame("silent").columns == [VS, VE, "n", "ts"]
    assert len(got) == 1
    assert got[0].equals(handle.frame("totals"))
    with pytest.raises(wc.ConfigError, match=r"RUN\.NO_OUTPUT.*'total'(.|\n)*Did you mean 'totals'"):
        handle.frame("total")

    app = make_app()
    build(app, [])
    streamed = app.run(mode="offline")
    for name in ("per_user", "totals"):
        assert not bag_difference(as_events(handle.frame(name)), as_events(streamed.frame(name))), name
    with pytest.raises(wc.ConfigError, match=r"RUN\.BATCH_AFTER_LIVE.*totals"):
        app.run(mode="batch")


def test_files_are_read_in_place(make_app: Callable[..., wc.App], tmp_path: Path) -> None:
    rows = pl.DataFrame(clicks(50), schema={"user": pl.String, "n": pl.Int64, "ts": pl.Int64, "until": pl.Int64})
    rows.write_parquet(tmp_path / "a.parquet")
    rows.with_columns(pl.col("n").cast(pl.Int32)).write_parquet(tmp_path / "b.parquet")  # not as declared: copied
    app = make_app()
    schema = {"user": str, "n": int, "ts": "bigint", "until": "bigint"}
    files = wc.files(str(tmp_path / "*.parquet"))
    source = app.stream("clicks", schema, time="ts", end="until", max_ahead=None, slack=1000, source=files)
    source.filter(wc.col("n") % 3 == 0).into("third")
    streamed = app.run(mode="offline").frame("third")
    assert streamed.height == 34
    assert not bag_difference(as_events(app.run(mode="batch").frame("third")), as_events(streamed))


def test_what_sources_have_is_taken_in_first(make_app: Callable[..., wc.App], tmp_path: Path) -> None:
    """Once: a second run finds it in the store."""
    pl.DataFrame({"k": ["a", "b", "a"], "ts": [1, 2, 3]}).write_ndjson(tmp_path / "rows.jsonl")
    for _ in range(2):
        app = make_app()
        rows = app.stream("rows", {"k": str, "ts": "bigint"}, time="ts", source=wc.files(str(tmp_path / "*.jsonl")))
        rows.group_by("k").tumbling(10).agg(n=wc.count()).into("out")
        found = app.run(mode="batch").frame("out")
        assert sorted(found.select("k", "n").rows()) == [("a", 2), ("b", 1)]


def test_batch_leaves_out_what_a_filter_left_out(make_app: Callable[..., wc.App], tmp_path: Path) -> None:
    app = make_app()
    clicks = app.stream("clicks", {"n": int, "t": "bigint"}, time="t")
    clicks.group_by().tumbling(10).agg(total=wc.sum("n")).into("all")
    clicks.group_by().tumbling(20).agg(total=wc.sum("n")).into("some")
    clicks.push([{"n": n, "t": n} for n in range(20)])
    app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    catalog.filters.add("some", "clicks", "n % 2 = 0")
    clicks.push([{"n": n, "t": n} for n in range(20, 40)])
    app.run(mode="offline")
    catalog.filters.remove(1)
    catalog.close()
    clicks.push([{"n": n, "t": n} for n in range(40, 60)])
    clicks.end()
    app.run(mode="offline")
    found = app.run(mode="batch")
    assert isinstance(found, BatchHandle)
    assert found.frame("all")["total"].sum() == sum(range(60))
    assert found.frame("some")["total"].sum() == sum(n for n in range(60) if not 20 <= n < 40 or n % 2)
