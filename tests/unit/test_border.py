"""What the border admits: each policy at its exact bounds, and that every row is counted once."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import waterclock as wc
from waterclock.schema import VE, VS, Schema
from waterclock.streams import Admitted, Declaration, admit
from waterclock.streams.border import LIMIT, row_of
from waterclock.time import BEGINNING, FOREVER

NOW = 1_000_000
SCHEMA = Schema.of({"t": "bigint", "e": "bigint", "c": "bigint"})


def declared(**options: Any) -> Declaration:
    options = {"time": "t", "end": "e", "max_ahead": None} | options
    return Declaration("s", SCHEMA, **options)


def rows(*events: tuple[int | None, int | None] | tuple[int | None, int | None, int | None]) -> pl.DataFrame:
    return pl.DataFrame([(*event, None)[:3] for event in events], schema=SCHEMA.polars(), orient="row")


def spans(frame: pl.DataFrame) -> list[tuple[int, int]]:
    return frame.select(VS, VE).rows()


def put(events: pl.DataFrame, d: Declaration, cti: int = BEGINNING) -> Admitted:
    admitted = admit(events, d, cti, NOW, row_of("here"))
    counted = sum(admitted.counters.values()) + len(admitted.rejected)
    counted -= admitted.counters.get("late_adjusted", 0)  # these are among the rows
    assert counted == events.height, "every row is counted once"
    for frame in (admitted.events, admitted.late, admitted.quarantined):
        assert dict(frame.schema) == dict(SCHEMA.frame_schema())
    return admitted


# -- late --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["drop", "divert", "adjust"])
def test_a_start_at_the_cti_is_on_time_and_one_before_it_is_late(policy: str) -> None:
    found = put(rows((100, 101), (99, 100), (99, 101), (150, None)), declared(late=policy), 100)
    if policy == "adjust":
        assert spans(found.events) == [(100, 101), (100, 101), (150, FOREVER)]
        assert found.counters == {"rows": 3, "late_adjusted": 1, "late_dropped": 1}
    else:
        assert spans(found.events) == [(100, 101), (150, FOREVER)]
        assert found.counters == {"rows": 2, "late_dropped" if policy == "drop" else "late_diverted": 2}
    assert spans(found.late) == ([(99, 100), (99, 101)] if policy == "divert" else [])
    assert found.cti == 150


def test_adjust_drops_points_and_keeps_open_ends() -> None:
    found = put(rows((10, 11), (99, 100), (10, None)), declared(late="adjust"), 100)
    assert spans(found.events) == [(100, FOREVER)]
    assert found.counters == {"rows": 1, "late_adjusted": 1, "late_dropped": 2}
    points = put(rows((10, None), (100, None)), declared(end=None, late="adjust"), 100)
    assert (spans(points.events), points.counters) == ([(100, 101)], {"rows": 1, "late_dropped": 1})


def test_fail_names_the_first_late_row_and_its_cti() -> None:
    with pytest.raises(
        wc.DataError, match=r"DATA\.LATE.*here row 1: an event starts at 1970-01-01 00:00:00.000099, before .*0001"
    ):
        put(rows((100, 101), (99, 100), (50, 51)), declared(), 100)


def test_order_inside_a_chunk_does_not_make_rows_late() -> None:
    found = put(rows((900, 901), (100, 101)), declared(slack=10), 100)
    assert (spans(found.events), found.cti) == ([(900, 901), (100, 101)], 890)


def test_events_do_not_move_time_without_slack() -> None:
    for d in (declared(slack=None), declared(time_from="other"), declared(time_from="other", slack=5)):
        assert put(rows((900, 901)), d).cti == BEGINNING
        assert put(rows((900, 901)), d, 7).cti == 7


# -- too far ahead -----------------------------------------------------------------------------------------


def test_max_ahead_is_the_last_time_that_is_believed() -> None:
    d = declared(max_ahead=50, ahead="quarantine")
    found = put(rows((NOW + 50, None), (NOW + 51, None), (5, 6), (NOW + 99, NOW + 200)), d)
    assert spans(found.events) == [(NOW + 50, FOREVER), (5, 6)]
    assert spans(found.quarantined) == [(NOW + 51, FOREVER), (NOW + 99, NOW + 200)]
    assert found.quarantined["t"].to_list() == [NOW + 51, NOW + 99]
    assert found.counters == {"rows": 2, "quarantined": 2}
    assert found.cti == NOW + 50
    with pytest.raises(wc.DataError, match=r"DATA\.FUTURE.*here row 1: the time .* more than max_ahead=50us"):
        put(rows((5, 6), (NOW + 51, None)), declared(max_ahead=50))


def test_rows_ahead_are_no_bad_rows() -> None:
    with pytest.raises(wc.DataError, match=r"DATA\.FUTURE"):
        put(rows((NOW + 51, None)), declared(max_ahead=50, on_bad="skip"))
    found = put(rows((LIMIT + 1, None), (NOW + 51, None), (9, 9)), declared(max_ahead=50, ahead="quarantine"))
    assert [r.error.code for r in found.rejected] == ["DATA.BAD_LIFETIME"] * 2
    assert found.counters == {"rows": 0, "quarantined": 1}
    assert found.cti == BEGINNING


@pytest.mark.parametrize("slack", [0, 30, None])
def test_max_jump_counts_from_the_streams_time(slack: int | None) -> None:
    d = declared(max_jump=100, slack=slack, ahead="quarantine")
    base = 500 + (slack or 0)
    allowed = put(rows((base + 100, None)), d, 500)
    assert (spans(allowed.events), allowed.quarantined.height) == ([(base + 100, FOREVER)], 0)
    found = put(rows((base + 101, None), (base, None)), d, 500)
    assert spans(found.events) == [(base, FOREVER)]
    assert spans(found.quarantined) == [(base + 101, FOREVER)]
    assert found.cti == (500 if slack is None else base - slack)
    with pytest.raises(wc.DataError, match=r"DATA\.JUMP.*here row 1: the time .* max_jump=100us"):
        put(rows((base, None), (base + 101, None)), declared(max_jump=100, slack=slack), 500)


def test_inside_a_chunk_time_may_pass_in_steps_in_any_order() -> None:
    d = declared(max_jump=100, ahead="quarantine")
    found = put(rows((700, 701), (600, 601), (901, 902), (800, 801), (1002, 1003), (950, 951)), d, 500)
    assert sorted(spans(found.events)) == [(600, 601), (700, 701), (800, 801)]
    assert sorted(spans(found.quarantined)) == [(901, 902), (950, 951), (1002, 1003)]
    assert found.cti == 800


def test_the_first_rows_are_held_against_their_median() -> None:
    d = declared(max_jump=100, ahead="quarantine")
    alone = put(rows((10**9, None)), d)
    assert (alone.events.height, alone.cti) == (1, 10**9)
    found = put(rows((10**9, None), (20, 21), (30, 31), (0, 1)), d)
    assert spans(found.events) == [(20, 21), (30, 31), (0, 1)]
    assert spans(found.quarantined) == [(10**9, FOREVER)]
    early = put(rows((-(10**9), 0), (20, 21), (30, 31)), d)
    assert early.quarantined.height == 0, "a clock that is behind closes nothing"


# -- CTIs in the data --------------------------------------------------------------------------------------


def test_a_cti_binds_what_comes_behind_it() -> None:
    d = declared(cti="c", late="divert")
    found = put(rows((50, 51), (10, 11, 100), (99, 100), (100, 101), (500, 501)), d)
    assert spans(found.events) == [(50, 51), (10, 11), (100, 101), (500, 501)]
    assert spans(found.late) == [(99, 100)]
    assert found.cti == 100, "events do not move time"
    assert found.counters == {"rows": 4, "late_diverted": 1}


def test_rows_with_only_a_cti_are_no_events() -> None:
    d = declared(cti="c", late="adjust")
    found = put(rows((50, 60), (None, None, 55), (50, 60), (50, 55), (None, None, 52), (None, 7, 56), (54, 57)), d)
    assert spans(found.events) == [(50, 60), (55, 60), (56, 57)]
    assert found.counters == {"rows": 3, "ctis": 3, "late_adjusted": 2, "late_dropped": 1}
    assert found.cti == 56
    assert put(rows((None, None, 3)), d, 70).cti == 70, "an earlier CTI says nothing new"


def test_a_row_without_start_and_cti_is_bad_and_so_is_an_impossible_cti() -> None:
    d = declared(cti="c")
    found = put(rows((None, None, None), (5, 6, FOREVER), (5, 6, -LIMIT - 1), (5, 5, 100), (5, 6, 4)), d)
    assert [r.error.code for r in found.rejected] == [
        "DATA.NO_TIME",
        "DATA.BAD_CTI",
        "DATA.BAD_CTI",
        "DATA.BAD_LIFETIME",
    ]
    assert (spans(found.events), found.cti) == ([(5, 6)], 4), "a bad row moves no time"


def test_a_late_row_still_moves_time() -> None:
    found = put(rows((5, 6, 200), (150, 151)), declared(cti="c", late="drop"), 100)
    assert (found.events.height, found.cti, found.counters) == (0, 200, {"rows": 0, "late_dropped": 2})


def test_a_cti_too_far_ahead_is_not_believed() -> None:
    d = declared(cti="c", max_jump=100, max_ahead=50, ahead="quarantine")
    found = put(rows((505, 506, 10**5), (None, None, NOW + 51), (510, 511, 520)), d, 500)
    assert spans(found.events) == [(510, 511)]
    assert spans(found.quarantined) == [(505, 506), (NOW + 51, NOW + 52)]
    assert found.cti == 520
    with pytest.raises(wc.DataError, match=r"DATA\.FUTURE.*row 1"):
        put(rows((1, 2), (None, None, NOW + 51)), declared(cti="c", max_ahead=50))


@pytest.mark.parametrize("kind", ["timestamp", "date", "int"])
def test_a_cti_column_is_any_time(kind: str) -> None:
    schema = Schema.of({"t": "timestamp", "c": kind})
    d = Declaration("s", schema, "t", cti="c", max_ahead=None)
    frame = pl.DataFrame({"t": [1], "c": [3]}, schema={"t": pl.Int64, "c": pl.Int32}).cast(schema.polars())
    assert admit(frame, d, BEGINNING, NOW, row_of("")).cti == (3 * 86_400_000_000 if kind == "date" else 3)


TIMES = st.integers(0, 60)
ARRIVALS = st.lists(
    st.tuples(st.none() | TIMES, st.none() | st.integers(1, 80), st.none() | st.integers(0, 70)),
    min_size=1,
    max_size=12,
)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(ARRIVALS, st.sampled_from(["drop", "adjust", "divert"]), st.sampled_from([BEGINNING, 0, 20]), st.randoms())
def test_a_chunk_with_ctis_is_as_its_rows_one_by_one(
    arrivals: list[tuple[int | None, int | None, int | None]], late: str, cti: int, chance: random.Random
) -> None:
    """However a sequence is cut into chunks, the same rows are taken, late and counted."""
    d = declared(cti="c", late=late)

    def run(cuts: list[int]) -> tuple[object, ...]:
        time, taken, side, bad, counters = cti, [], [], 0, dict[str, int]()
        for start, end in zip([0, *cuts], [*cuts, len(arrivals)], strict=True):
            found = put(rows(*arrivals[start:end]), d, time)
            assert found.cti >= time
            time = found.cti
            taken += found.events.rows()
            side += found.late.rows()
            bad += len(found.rejected)
            for name, number in found.counters.items():
                counters[name] = counters.get(name, 0) + number
        return time, taken, side, bad, counters

    cuts = sorted(chance.sample(range(1, len(arrivals)), chance.randint(0, len(arrivals) - 1)))
    assert run(cuts) == run(list(range(1, len(arrivals)))) == run([])


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(
    st.lists(st.integers(0, 300), min_size=1, max_size=12), st.sampled_from([BEGINNING, 0, 100]),
    st.integers(1, 60), st.integers(0, 40), st.randoms(),
)  # fmt: skip
def test_max_jump_does_not_depend_on_order(
    starts: list[int], cti: int, jump: int, slack: int, chance: random.Random
) -> None:
    d = declared(end=None, late="drop", max_jump=jump, slack=slack, ahead="quarantine")
    one = put(rows(*((start, None) for start in starts)), d, cti)
    shuffled = chance.sample(starts, len(starts))
    other = put(rows(*((start, None) for start in shuffled)), d, cti)
    assert sorted(one.quarantined["t"]) == sorted(other.quarantined["t"])
    assert (one.cti, one.counters) == (other.cti, other.counters)
    base = cti + slack if cti != BEGINNING else sorted(starts)[(len(starts) - 1) // 2]
    for start in sorted(set(starts)):  # the definition, step by step
        if start > base:
            if start - base > jump:
                break
            base = start
    assert sorted(one.quarantined["t"]) == sorted(start for start in starts if start > base)


# -- declarations ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"ahead": "skip"}, "ahead"),
        ({"max_jump": 0}, "max_jump"),
        ({"cti": "c", "slack": 5}, "slack"),
        ({"cti": "c", "time_from": "x"}, "time_from"),
        ({"time_from": "s"}, "time_from"),
    ],
)
def test_declarations_that_contradict_themselves(options: dict[str, Any], option: str) -> None:
    with pytest.raises(wc.ConfigError, match=rf"CONFIG\.BAD_OPTION\] {option}="):
        declared(**options)


def test_a_cti_column_must_be_a_time() -> None:
    with pytest.raises(wc.ConfigError, match=r"cti='n' is not possible"):
        Declaration("s", Schema.of({"t": "bigint", "n": "string"}), "t", cti="n")
    with pytest.raises(wc.ConfigError, match=r"SCHEMA\.UNKNOWN_COLUMN"):
        declared(cti="nowhere")


def test_a_declaration_survives_the_store() -> None:
    d = declared(cti="c", max_jump=5, ahead="quarantine")
    assert Declaration.from_json(d.to_json()) == d
    assert Declaration.from_json(declared(slack=None).to_json()).slack is None
