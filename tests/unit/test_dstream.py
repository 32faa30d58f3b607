"""The D-Stream API: what each interval's dataset holds, equal to the fluent API and to the reference."""

from __future__ import annotations

import operator
import uuid
from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import waterclock as wc
from waterclock.reference import Event, bag_difference, evaluate, logical_difference
from waterclock.schema import VE, VS

Make = Callable[..., wc.App]
WORDS = [(0, "to"), (1, "be"), (9, "to"), (12, "be"), (13, "be"), (21, "or"), (22, "to"), (58, "be")]
ROWS = [{"t": t, "word": word, "n": n} for n, (t, word) in enumerate(WORDS, 1)]
EVENTS: list[Event] = [(row["t"], row["t"] + 1, row) for row in ROWS]  # type: ignore[misc]


def new(make_app: Make) -> tuple[wc.App, Any, wc.DStream]:
    """Pairs (word, n) in intervals of ten."""
    app = make_app(store=uuid.uuid4().hex)
    source = app.stream("s", {"t": int, "word": str, "n": int}, time="t", slack=5)
    return app, source, wc.dstream(source.select("word", "n"), 10)


def run(app: wc.App, source: Any, name: str = "out") -> list[Event]:
    for row in ROWS:
        source.push([row])
    source.end()
    frame = app.run("offline").frame(name)
    return [(row.pop(VS), row.pop(VE), row) for row in frame.iter_rows(named=True)]


def answer(make_app: Make, query: Callable[[wc.DStream], wc.DStream]) -> list[tuple[Any, ...]]:
    """What an app gives, which is what the reference says."""
    app, source, pairs = new(make_app)
    plan = query(pairs).into("out")._datasets()._plan
    found = run(app, source)
    assert not bag_difference(found, evaluate(plan, {"s": EVENTS}, {"s": 53}))
    return sorted((vs, ve, *payload.values()) for vs, ve, payload in found)


def test_map_and_filter(make_app: Make) -> None:
    by_rows = answer(make_app, lambda d: d.map(lambda e: (e.word.upper(), e.n * 2), {"w": str, "m": int}))
    assert by_rows == answer(make_app, lambda d: d.map(w=wc.col("word").upper(), m=wc.col("n") * 2))
    assert by_rows[:2] == [(0, 10, "BE", 4), (0, 10, "TO", 2)]
    some = answer(make_app, lambda d: d.filter(lambda e: e.n > 6))
    assert some == answer(make_app, lambda d: d.filter(wc.col("n") > 6)) == [(20, 30, "to", 7), (50, 60, "be", 8)]


def test_flat_map(make_app: Make) -> None:
    letters = answer(make_app, lambda d: d.map(word="word").flat_map(lambda w: list(w), "string"))
    assert letters[:4] == [(0, 10, "b"), (0, 10, "e"), (0, 10, "o"), (0, 10, "o")]
    twice = answer(make_app, lambda d: d.flat_map(v=wc.array(wc.col("n"), wc.col("n"))))
    assert twice[:2] == [(0, 10, 1), (0, 10, 1)]


@pytest.mark.parametrize(
    ("mine", "built_in"),
    [(lambda a, b: a + b, operator.add), (lambda a, b: a if a > b else b, max), (lambda a, b: min(a, b), wc.min)],
)
def test_reductions_of_users_equal_built_in_ones(make_app: Make, mine: Any, built_in: Any) -> None:
    for reduction in (
        lambda d, f: d.reduce_by_key(f),
        lambda d, f: d.map(n="n").reduce(f),
        lambda d, f: d.reduce_by_window(30, f),
        lambda d, f: d.reduce_by_key_and_window(f, 20),
        lambda d, f: d.map(n="n").reduce_by_window(20, f),
        lambda d, f: d.running_reduce(f),
    ):
        found = answer(make_app, lambda d, reduction=reduction: reduction(d, mine))
        assert found == answer(make_app, lambda d, reduction=reduction: reduction(d, built_in))
        assert found


def test_counts_and_groups(make_app: Make) -> None:
    assert answer(make_app, lambda d: d.count()) == [(0, 10, 3), (10, 20, 2), (20, 30, 2), (50, 60, 1)]
    groups = answer(make_app, lambda d: d.group_by_key())
    assert groups[:2] == [(0, 10, "be", [2]), (0, 10, "to", [1, 3])]
    assert answer(make_app, lambda d: d.top_k(1)) == [
        (0, 10, "to", 3), (10, 20, "be", 5), (20, 30, "to", 7), (50, 60, "be", 8)
    ]  # fmt: skip


def test_windows_hold_the_elements_of_the_last_intervals(make_app: Make) -> None:
    counts = answer(make_app, lambda d: d.window(30).count())
    assert counts == [
        (0, 10, 3), (10, 20, 5), (20, 30, 7), (30, 40, 4), (40, 50, 2), (50, 60, 1), (60, 70, 1), (70, 80, 1)
    ]  # fmt: skip


def test_with_and_without_inverse(make_app: Make) -> None:
    without = answer(make_app, lambda d: d.reduce_by_window(30, operator.add))
    assert without == answer(make_app, lambda d: d.reduce_by_window(30, operator.add, operator.sub))
    assert (20, 30, "to", 11) in without


def test_a_running_reduction(make_app: Make) -> None:
    changes = answer(make_app, lambda d: d.running_reduce(operator.add))
    assert changes == [
        (0, 10, "be", 2), (0, 10, "to", 4), (10, 20, "be", 11), (20, 30, "or", 6), (20, 30, "to", 11),
        (50, 60, "be", 19),
    ]  # fmt: skip
    held = answer(make_app, lambda d: d.running_reduce(operator.add, timeout=30))
    assert (10, 40, "be", 11) in held
    assert (50, 80, "be", 8) in held, "forgotten in between"


def test_track_gives_the_states_at_the_end_of_each_interval(make_app: Make) -> None:
    def begin(key: str, event: wc.Row) -> int:
        return int(event.n)

    def more(key: str, state: int, event: wc.Row) -> int | None:
        return None if event.n == 5 else state + event.n

    found = answer(make_app, lambda d: d.track(begin, more, 25))
    assert found == [(0, 10, "be", 2), (0, 20, "to", 4), (20, 40, "or", 6), (20, 40, "to", 11), (50, 80, "be", 8)]
    assert answer(make_app, lambda d: d.track(begin, more, 25).count())[:2] == [(0, 10, 2), (10, 20, 1)]


def test_joins_of_the_same_interval(make_app: Make) -> None:
    found = answer(make_app, lambda d: d.map(word="word", n="n").join(d.reduce_by_key(max)))
    assert (0, 10, "to", 1, 3) in found
    both = answer(make_app, lambda d: d.filter(wc.col("n") < 3).cogroup(d.filter(wc.col("n") > 2)))
    assert both[:2] == [(0, 10, "be", [2], None), (0, 10, "to", [1], [3])]
    union = answer(make_app, lambda d: d.union(d).count())
    assert union[0] == (0, 10, 6)


class Frame:
    """As much of a Spark data frame as is asked for."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def limit(self, n: int) -> Frame:
        return Frame(self._table.slice(0, n))

    def toArrow(self) -> pa.Table:
        return self._table


def test_a_batch_data_frame_is_joined_as_a_table(make_app: Make) -> None:
    kinds = pa.table({"word": ["be", "to"], "kind": pa.array([1, 2], pa.int32())})
    app, source, pairs = new(make_app)
    pairs.join(Frame(kinds), name="kinds").into("out")
    found = run(app, source)
    assert len(found) == 7
    assert found[0][2] == {"word": "to", "n": 1, "kind": 2}
    with pytest.raises(wc.ConfigError, match=r"PLAN.TABLE_TOO_LARGE.*'kinds' has more than 1 rows"):
        new(make_app)[2].join(Frame(kinds), name="kinds", most=1)


def test_a_slice_by_the_clock_is_one_dataset_of_every_day(make_app: Make) -> None:
    app = make_app()
    clicks = app.stream("clicks", {"user": str, "ts": "timestamp"}, time="ts", max_ahead=None)
    for day in (5, 6):
        times = ("20:59:59", "21:00:00", "21:04:59", "21:05:00")
        clicks.push([{"user": f"u{n}", "ts": f"2026-01-0{day}T{time}Z"} for n, time in enumerate(times)])
    counts = wc.dstream(clicks, "1s").map(user="user", n=wc.lit(1)).reduce_by_key(wc.sum)
    found = app.query(counts.slice("21:00", "21:05").top_k(10))
    assert sorted(zip(found["valid_from"].dt.day(), found["user"], strict=True)) == [
        (5, "u1"), (5, "u2"), (6, "u1"), (6, "u2"),
    ]  # fmt: skip
    with pytest.raises(wc.ConfigError, match="or give dates"):
        counts.slice("21:00", "21:07")
    with pytest.raises(wc.ConfigError, match="not a point in time"):
        counts.slice("21:00", "2026-01-05T21:05")


def test_a_slice_is_one_dataset(make_app: Make) -> None:
    found = answer(make_app, lambda d: d.reduce_by_key(operator.add).slice(0, 30).top_k(2))
    assert found == [(0, 30, "be", 9), (0, 30, "to", 7)]


def test_transform_save_and_foreach_epoch(make_app: Make) -> None:
    app, source, pairs = new(make_app)
    seen: list[pl.DataFrame] = []
    counts = pairs.transform(lambda s: s.group_by("word").snapshot().agg(n=wc.count()))
    counts.foreach_epoch(lambda epoch, rows: seen.append(rows), "each").save(wc.callback(lambda e, r: None), "saved")
    expected = run(app, source, "saved")
    each = [(row.pop(VS), row.pop(VE), row) for row in pl.concat(seen).iter_rows(named=True)]
    assert not bag_difference(each, expected)


def test_the_same_as_the_fluent_api(make_app: Make) -> None:
    """Sliding counts by word, written in both."""
    found = answer(make_app, lambda d: d.map(word="word", n=wc.lit(1)).reduce_by_window(30, operator.add))
    app = make_app(store=uuid.uuid4().hex)
    source = app.stream("s", {"t": int, "word": str, "n": int}, time="t", slack=5)
    source.group_by("word").hopping(30, 10).agg(n=wc.count()).shift(-10).into("out")
    fluent = [(vs, ve, payload) for vs, ve, payload in run(app, source)]
    dstreams = [(vs, ve, {"word": word, "n": n}) for vs, ve, word, n in found]
    assert not logical_difference(dstreams, fluent)


def test_what_is_refused(make_app: Make) -> None:
    pairs = new(make_app)[2]
    with pytest.raises(wc.ConfigError, match="multiple of the interval, 10us"):
        pairs.window(15)
    with pytest.raises(wc.ConfigError, match="Name the columns it gives"):
        pairs.map(lambda e: e)
    with pytest.raises(wc.ConfigError, match="same interval"):
        pairs.union(wc.dstream(pairs.stream, 20))
    with pytest.raises(wc.ConfigError, match="a slice"):
        pairs.slice(5, 5)
    with pytest.raises(wc.ConfigError, match="the interval"):
        wc.dstream(pairs.stream, 0)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (lambda d: d.map(lambda e: e.nobody, "string"), "raised AttributeError: the event has no column 'nobody'"),
        (lambda d: d.map(lambda e: (1, 2, 3), {"a": int, "b": int}), r"gave \(1, 2, 3\) where \(a, b\) was expected"),
        (lambda d: d.filter(lambda e: e.n), r"gave 1 \(int\) where True or False was expected"),
        (lambda d: d.flat_map(lambda e: [e.word], int), r"gave 'to' \(str\) where bigint was declared"),
        (
            lambda d: d.reduce_by_key(lambda a, b: f"{a}{b}"),
            r"gave '\d\d' \(str\) where bigint was declared",
        ),
    ],
)
def test_errors_show_the_element(make_app: Make, query: Any, message: str) -> None:
    app, source, pairs = new(make_app)
    query(pairs).into("out")
    with pytest.raises(wc.UserError, match=message):
        run(app, source)
