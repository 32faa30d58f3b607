"""Differences of random results: against counting at every instant, and whatever way lifetimes are cut."""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

import waterclock as wc
from waterclock.reference import logical_difference
from waterclock.schema import VE, VS
from waterclock.time import FOREVER

SCHEMA = {VS: pl.Int64(), VE: pl.Int64(), "k": pl.String(), "x": pl.Int32(), "y": pl.Float64()}
LATEST = 12
MANY, FEW = settings(max_examples=100, deadline=None), settings(max_examples=40, deadline=None)
INSTANTS = [*range(LATEST + 1), FOREVER - 1]
Row = tuple[int, int, str | None, int | None, float | None]


@st.composite
def rows(draw: st.DrawFn) -> Row:
    vs = draw(st.integers(0, LATEST - 1))
    ve = draw(st.one_of(st.integers(vs + 1, LATEST), st.just(FOREVER)))
    y = draw(st.sampled_from([None, 0.0, -0.0, 1.5, float("nan")]))
    return vs, ve, draw(st.sampled_from(["a", "b", None])), draw(st.sampled_from([None, 1, 2])), y


RESULTS = st.lists(rows(), max_size=12)


def frame(found: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(found, schema=SCHEMA, orient="row")


def value(x: Any) -> Any:
    return "NaN" if x != x else x


def alive(found: pl.DataFrame, at: int, columns: list[str]) -> Counter[tuple[Any, ...]]:
    """How often each payload is there."""
    counted: Counter[tuple[Any, ...]] = Counter()
    for row in found.filter(pl.col(VS) <= at, pl.col(VE) > at).iter_rows(named=True):
        counted[tuple(value(row[name]) for name in columns)] += row.get("_n", 1)
    return counted


def events(found: list[Row]) -> list[tuple[int, int, dict[str, Any]]]:
    return [(vs, ve, {"k": k, "x": x, "y": y}) for vs, ve, k, x, y in found]


@given(RESULTS, RESULTS)
@MANY
def test_without_keys(one: list[Row], other: list[Row]) -> None:
    a, b = frame(one), frame(other)
    found = wc.diff(a, b)
    payload = ["k", "x", "y"]
    for at in INSTANTS:
        left, right = alive(a, at, payload), alive(b, at, payload)
        assert alive(found.only_a, at, payload) == left - right
        assert alive(found.only_b, at, payload) == right - left
    assert found.equal == (not logical_difference(events(one), events(other)))
    for side in (found.only_a, found.only_b):  # as long as can be
        assert not side.join(side, left_on=[VE, *payload, "_n"], right_on=[VS, *payload, "_n"], nulls_equal=True).height


@given(RESULTS, RESULTS)
@MANY
def test_with_keys(one: list[Row], other: list[Row]) -> None:
    a, b = frame(one), frame(other)
    found, plain = wc.diff(a, b, on="k"), wc.diff(a, b)
    payload = ["k", "x", "y"]
    for at in INSTANTS:
        changed = [alive(found.changed, at, ["k", f"{side}.x", f"{side}.y"]) for side in "ab"]
        left, right = alive(plain.only_a, at, payload), alive(plain.only_b, at, payload)
        assert alive(found.only_a, at, payload) + changed[0] == left
        assert alive(found.only_b, at, payload) + changed[1] == right
        for key in ("a", "b", None):
            sides = [sum(n for row, n in side.items() if row[0] == key) for side in (left, right)]
            assert sum(n for row, n in changed[0].items() if row[0] == key) == min(sides)
    assert found.equal == plain.equal


@given(RESULTS, RESULTS, st.sampled_from([(), ("k",), ("k", "x")]))
@MANY
def test_the_other_way_round(one: list[Row], other: list[Row], on: tuple[str, ...]) -> None:
    there, back = wc.diff(frame(one), frame(other), on), wc.diff(frame(other), frame(one), on)
    assert there.only_a.equals(back.only_b)
    assert there.only_b.equals(back.only_a)
    swapped = {name: "ba"["ab".index(name[0])] + name[1:] for name in back.changed.columns if name[1:2] == "."}
    order = [VS, VE, "_n", *there.changed.columns]
    assert there.changed.sort(order).equals(back.changed.rename(swapped).select(there.changed.columns).sort(order))


@st.composite
def recut(draw: st.DrawFn, found: list[Row]) -> list[Row]:
    """The same, in random adjacent pieces and any order."""
    pieces: list[Row] = []
    for vs, ve, *payload in found:
        last = min(ve, LATEST)
        cuts = sorted(draw(st.sets(st.integers(vs + 1, last - 1), max_size=3))) if last - vs > 1 else []
        pieces += [(start, end, *payload) for start, end in zip([vs, *cuts], [*cuts, ve], strict=True)]  # type: ignore[misc]
    return draw(st.permutations(pieces))


@given(st.data())
@FEW
def test_cuts_do_not_matter(data: st.DataObject) -> None:
    found = data.draw(RESULTS)
    again = data.draw(recut(found))
    for on in ((), ("k",)):
        compared = wc.diff(frame(found), frame(again), on)
        assert compared.equal
        assert compared.counts() == {"only_a": 0, "only_b": 0, "changed": 0}


@given(st.data())
@FEW
def test_one_changed_row_is_found_exactly(data: st.DataObject) -> None:
    found = data.draw(st.lists(rows(), min_size=1, max_size=12))
    at = data.draw(st.integers(0, len(found) - 1))
    vs, ve, _, x, y = found[at]
    found = [row if n == at else (*row[:2], f"{n}", *row[3:]) for n, row in enumerate(found)]  # keys of their own
    found[at] = (vs, ve, "mine", x, y)
    low = data.draw(st.integers(vs, min(ve, LATEST) - 1))
    high = data.draw(st.integers(low + 1, min(ve, LATEST)))
    changed = [row for n, row in enumerate(found) if n != at]
    changed += [(s, e, "mine", v, y) for s, e, v in ((vs, low, x), (low, high, 77), (high, ve, x)) if s < e]
    compared = wc.diff(frame(found), frame(changed), on="k")
    assert compared.only_a.height == compared.only_b.height == 0
    assert compared.columns() == {"x": 1}
    ((start, end, n, key, old, new),) = compared.changed.select(VS, VE, "_n", "k", "a.x", "b.x").rows()
    assert (start, end, n, key, old, new) == (low, high, 1, "mine", x, 77)
    inside = wc.diff(frame(found), frame(changed), start=0, end=low) if low else None
    assert inside is None or inside.equal


@given(RESULTS, RESULTS, st.integers(0, LATEST - 1), st.integers(1, LATEST))
@FEW
def test_a_part_of_time(one: list[Row], other: list[Row], low: int, long: int) -> None:
    a, b, high = frame(one), frame(other), low + long
    found, plain = wc.diff(a, b, start=low, end=high), wc.diff(a, b)
    for at in INSTANTS:
        for side in ("only_a", "only_b"):
            wanted = alive(getattr(plain, side), at, ["k", "x", "y"]) if low <= at < high else Counter()
            assert alive(getattr(found, side), at, ["k", "x", "y"]) == wanted


@given(RESULTS, RESULTS)
@FEW
def test_counts_over_time(one: list[Row], other: list[Row]) -> None:
    found = wc.diff(frame(one), frame(other), on="k")
    for start, end, *counts in found.over_time(most=5).select(VS, VE, "only_a", "only_b", "changed").iter_rows():
        for kind, count in zip(("only_a", "only_b", "changed"), counts, strict=True):
            rows = getattr(found, kind).filter(pl.col(VS) < end, pl.col(VE) > start)
            assert count == rows["_n"].sum()
