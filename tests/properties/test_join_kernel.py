"""The join kernels alone, without an app: random streams on both sides, cuts and hash ranges against the reference."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.kernel import Batch, run_operator
from tests.properties.kernel_cases import check
from tests.properties.test_app import quick
from waterclock.expr.nodes import Expr, col
from waterclock.operators import pairs
from waterclock.plan import Input, Join
from waterclock.reference import Event
from waterclock.schema import Schema
from waterclock.time import BEGINNING, FOREVER

LEFT = Input("s0", Schema.of({"k": "int", "s": "string", "x": "int"}), False, True)
RIGHT = Input("s1", Schema.of({"k": "bigint", "s": "string", "y": "double"}), False, True)
NAMES = (("k", "rk"), ("s", "rs"), ("y", "y"))
KINDS = ["inner", "left", "full", "semi", "anti"]
KEYS = st.sampled_from([((), ()), (("k",), ("k",)), (("k",), ("k",)), (("k", "s"), ("k", "s")), (("s",), ("s",))])
RESIDUALS: list[Expr | None] = [None, None, col("x") > col("y"), (col("x") != col("rk")) | col("y").is_null()]


@st.composite
def events(draw: st.DrawFn, low: int, right: bool) -> Event:
    vs = draw(st.integers(low, low + 12))
    ve = draw(st.one_of(st.integers(vs + 1, vs + 4), st.integers(vs + 1, vs + 20), st.just(FOREVER)))
    key = draw(st.sampled_from([1, 1, 2, None]))
    number = draw(st.sampled_from([None, 0, 1, 2]))
    payload = {"k": key, "s": draw(st.sampled_from(["a", "a", "b", None]))}
    return vs, ve, {**payload, "y": None if number is None else number + 0.5} if right else {**payload, "x": number}


@st.composite
def batches(draw: st.DrawFn) -> list[Batch]:
    """Each side has a pace of its own: steady, far ahead, never moving, or ended early."""
    paces = [draw(st.sampled_from(["steady", "steady", "fast", "never", "ends"])) for _ in range(2)]
    ctis = [BEGINNING, BEGINNING]
    found: list[Batch] = []
    for _ in range(draw(st.integers(1, 6))):
        some: list[tuple[Event, ...]] = []
        for side, pace in enumerate(paces):
            low = max(0, ctis[side])
            ended = ctis[side] == FOREVER
            # Behind a CTI that is far ahead events are as rare as they are in life.
            some.append(() if ended else tuple(draw(st.lists(events(low, side == 1), max_size=5))))
            if ended or not draw(st.booleans()):
                continue
            if pace == "ends" and draw(st.booleans()):
                ctis[side] = FOREVER
            elif pace != "never":
                top = low + (25 if pace == "fast" else 6)
                ends = [ve for each in (*(b.events for b in found), some) for part in each for _, ve, _ in part]
                borders = sorted({ve for ve in ends if low <= ve <= top})  # where a piece may end
                any_time = st.integers(low, top)
                ctis[side] = draw(st.one_of(any_time, st.sampled_from(borders)) if borders else any_time)
        found.append(Batch(tuple(some), tuple(ctis), draw(st.sampled_from([1, 2, 3, 7]))))
    ends = {ve for batch in found for part in batch.events for _, ve, _ in part}
    for side, cti in enumerate(ctis):
        borders = sorted(ve for ve in ends if max(0, cti) <= ve < FOREVER)
        if borders and draw(st.integers(0, 2)):
            ctis[side] = draw(st.sampled_from(borders))  # exactly where a piece may end
            found.append(Batch(((), ()), tuple(ctis)))
    for side in draw(st.permutations([0, 1])):
        if draw(st.integers(0, 2)) == 0:
            ctis[side] = FOREVER
            found.append(Batch(((), ()), tuple(ctis), draw(st.sampled_from([1, 2]))))
    return found


@st.composite
def joins(draw: st.DrawFn, kind: str) -> Join:
    left_keys, right_keys = draw(KEYS)
    return Join(kind, LEFT, RIGHT, left_keys, right_keys, NAMES, draw(st.sampled_from(RESIDUALS)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_kernel_gives_what_the_reference_says(kind: str) -> None:
    @quick(400)
    @given(joins(kind), batches())
    def run(node: Join, some: list[Batch]) -> None:
        check(node, some)

    run()


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_the_kernel_at_length(kind: str) -> None:
    @settings(quick(7000), derandomize=False)
    @given(joins(kind), batches())
    def run(node: Join, some: list[Batch]) -> None:
        check(node, some)

    run()


def one(vs: int, ve: int, right: bool = False) -> Event:
    return vs, ve, {"k": 1, "s": "a", "y": 1.5} if right else {"k": 1, "s": "a", "x": 1}


@pytest.mark.parametrize("keys", [(), ("k",)])
def test_a_covered_piece_that_ends_at_the_time_may_go_on(keys: tuple[str, ...]) -> None:
    node = Join("semi", LEFT, RIGHT, keys, keys, NAMES)
    start = Batch(((one(0, 20),), (one(0, 5, True),)), (20, 5))
    assert run_operator(node, [start]) == ([], 0)
    passed = Batch(((), ()), (20, 6))
    assert run_operator(node, [start, passed]) == ([one(0, 5)], 6)
    continued = Batch(((), (one(5, 9, True),)), (20, 6))
    assert run_operator(node, [start, continued]) == ([], 0)
    assert run_operator(node, [start, continued, Batch(((), ()), (20, 10))]) == ([one(0, 9)], 10)
    assert run_operator(node, [Batch(((one(0, 5),), (one(0, 9, True),)), (20, 5))]) == ([one(0, 5)], 5)


@pytest.mark.parametrize("keys", [(), ("k",)])
def test_a_gap_that_ends_at_the_time_is_final(keys: tuple[str, ...]) -> None:
    node = Join("anti", LEFT, RIGHT, keys, keys, NAMES)
    start = Batch(((one(0, 20),), (one(5, 9, True),)), (20, 4))
    assert run_operator(node, [start]) == ([], 0)
    assert run_operator(node, [start, Batch(((), ()), (20, 5))]) == ([one(0, 5)], 5)
    assert run_operator(node, [start, Batch(((), ()), (20, 12))]) == ([one(0, 5)], 9)


@pytest.fixture
def poor_hashes() -> Iterator[None]:
    """Different keys share a hash, and few candidates are looked at together."""

    def poor(frame: pl.DataFrame, columns: list[str]) -> np.ndarray:
        parts = [frame[name].hash().to_numpy() % 2 for name in columns]
        return (sum(parts) % 2).astype(np.uint64) << np.uint64(63) if parts else np.zeros(frame.height, np.uint64)

    with (
        mock.patch("waterclock.operators.base.hash_rows", poor),
        mock.patch("waterclock.operators.pairs.hash_rows", poor),
        mock.patch.object(pairs, "CHUNK", 3),
        mock.patch.object(pairs, "_LOOSE", 0),
    ):
        yield


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("poor_hashes")
def test_keys_that_share_a_hash_stay_apart(kind: str) -> None:
    @quick(60)
    @given(joins(kind), batches())
    def run(node: Join, some: list[Batch]) -> None:
        check(node, some)

    run()
