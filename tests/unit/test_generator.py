"""Generated streams: a function of the number alone, across restarts and whatever the polling."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import polars as pl
import pytest

import waterclock as wc
from waterclock import launch
from waterclock.connect.base import Chunk
from waterclock.connect.generator import GeneratorReader, event_time, numbered
from waterclock.runtime.log import StreamReader
from waterclock.schema import Schema
from waterclock.streams import Declaration

START = 1_700_000_000_000_000
SCHEMA = {"ts": "timestamp", "n": int, "even": bool}
DECLARATION = Declaration("numbers", Schema.of(SCHEMA), "ts")


def make(events: pl.DataFrame) -> pl.DataFrame:
    return events.with_columns(even=pl.col("n") % 2 == 0)


def all_due(reader: GeneratorReader, now: int = 2**62) -> list[Chunk]:
    chunks = []
    while (chunk := reader.poll(0, now)) is not None:
        chunks.append(chunk)
    return chunks


def rows_of(chunks: list[Chunk]) -> pl.DataFrame:
    return pl.concat(chunk.rows for chunk in chunks if chunk.rows is not None)


def test_an_event_comes_when_the_clock_reaches_its_time() -> None:
    reader = wc.generate(make, rate=10, start=START, batch=1).open(DECLARATION, None)
    assert reader.poll(0, START - 1) is None
    assert [chunk.rows["n"].to_list() for chunk in all_due(reader, START + 250_000) if chunk.rows is not None] == [
        [0],
        [1],
        [2],
    ]
    assert not reader.finished


@pytest.mark.parametrize("stop", [1, 3, 10])
def test_a_restart_continues_exactly(stop: int) -> None:
    source = wc.generate(make, rate=7, count=100, start=START, batch=9)
    whole = all_due(source.open(DECLARATION, None))
    first = source.open(DECLARATION, None)
    before = [chunk for chunk in (first.poll(0, 2**62) for _ in range(stop)) if chunk is not None]
    # Another start option does not move a stream that has begun.
    again = wc.generate(make, rate=7, count=100, start=START + 5, batch=9).open(DECLARATION, before[-1].position)
    after = all_due(again)
    assert [chunk.position for chunk in before + after] == [chunk.position for chunk in whole]
    assert rows_of(before + after).equals(rows_of(whole))
    assert again.finished


def test_blocks_do_not_depend_on_polling() -> None:
    source = wc.generate(make, rate=100, count=95, start=START, batch=10)
    slow, at_once = source.open(DECLARATION, None), source.open(DECLARATION, None)
    ticks = range(START, START + 1_000_000, 7_001)
    polled = [chunk for now in ticks for chunk in [slow.poll(0, now)] if chunk is not None]
    assert [c.position for c in polled] == [c.position for c in all_due(at_once)]
    assert [c.position["next"] for c in polled] == [*range(10, 95, 10), 95]


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(7), Fraction(1000), Fraction(3_000_000)])
def test_times_are_a_pure_function_of_the_number(rate: Fraction) -> None:
    for first in (0, 1, 999_983, 10**12):
        block = numbered(first, first + 50, rate, START)
        expected = [event_time(n, rate, START) for n in range(first, first + 50)]
        assert block["ts"].to_physical().to_list() == expected
        assert block["n"].to_list() == list(range(first, first + 50))


def test_another_rate_is_refused() -> None:
    position = {"next": 10, "start": START, "rate": "7"}
    with pytest.raises(wc.ConfigError, match=r"generated with rate=7"):
        wc.generate(make, rate=8).open(DECLARATION, position)


@pytest.mark.parametrize("options", [{"rate": 0}, {"rate": -1}, {"batch": 0}, {"count": -5}, {"rate": float("nan")}])
def test_impossible_options(options: dict[str, float]) -> None:
    with pytest.raises(wc.ConfigError, match="greater than 0"):
        wc.generate(make, **options)  # type: ignore[arg-type]


def numbers_app(make_app: Callable[..., wc.App], count: int) -> wc.App:
    app = make_app()
    source = wc.generate(make, rate=100, count=count, start=START, batch=10)
    numbers = app.stream("numbers", SCHEMA, time="ts", source=source)
    numbers.filter(wc.col("even")).tumbling("1s").agg(n=wc.count()).into("evens")
    return app


def test_an_app_takes_every_number_once(make_app: Callable[..., wc.App]) -> None:
    handle = numbers_app(make_app, 1_000).run("offline")
    assert handle.status().counters == {"numbers": {"rows": 1_000}}
    from waterclock.catalog import Catalog

    catalog = Catalog.open(numbers_app(make_app, 1_000).store)
    assert StreamReader(catalog, "numbers").read(0, 1_000)["n"].to_list() == list(range(1_000))
    assert StreamReader(catalog, "evens").read(0, 10)["n"].to_list() == [50] * 10
    catalog.close()


def test_offline_waits_for_the_end_of_a_paced_stream(make_app: Callable[..., wc.App]) -> None:
    app = make_app()
    numbers = app.stream("numbers", SCHEMA, time="ts", source=wc.generate(make, rate=100, count=20))
    numbers.tumbling("1h").agg(n=wc.count()).into("all")
    assert app.run("offline").status().counters["numbers"]["rows"] == 20


def test_a_failing_function_names_the_stream(make_app: Callable[..., wc.App]) -> None:
    app = make_app()
    broken = wc.generate(lambda events: events.select("nothing"), start=START, count=5)
    app.stream("numbers", SCHEMA, time="ts", source=broken).tumbling("1s").agg(n=wc.count()).into("out")
    with pytest.raises(wc.RunError, match=r"source of 'numbers' failed: ColumnNotFoundError"):
        app.run("offline")


def test_a_run_that_ends_takes_what_was_due_when_it_began(
    make_app: Callable[..., wc.App], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a stream without an end, however long the run takes; the next run goes on."""

    def app(start: int | None) -> wc.App:
        made = make_app(store=f"store {start}", epoch_rows=100)
        source = wc.generate(make, rate=1000, start=start, batch=10)
        made.stream("numbers", SCHEMA, time="ts", source=source).filter(wc.col("even")).into("evens")
        return made

    for seconds in (1, 1, 3):
        monkeypatch.setattr(launch, "wall_clock", lambda at=seconds: START + at * 1_000_000)
        status = app(START).run("offline").status()
        assert status.counters["numbers"]["rows"] == seconds * 1000
        assert status.vertices[0].rows_out == seconds * 500
    monkeypatch.undo()
    assert app(None).run("offline").status().counters["numbers"].get("rows", 0) == 0
