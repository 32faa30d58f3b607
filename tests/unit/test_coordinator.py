"""The coordinator alone: pure, so every transition can be tried without a store."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waterclock.catalog import Intent, Range, Snapshot
from waterclock.optimizer.parallelism import Tasks
from waterclock.runtime.coordinator import (
    Commit,
    Committed,
    Coordinator,
    Execute,
    Executed,
    Failed,
    Halt,
    InvalidTransition,
    Offer,
    Offered,
    Record,
    Recovered,
    StopRequested,
)
from waterclock.time import BEGINNING


def split(rows: Mapping[str, int], flows: Mapping[str, int]) -> Tasks:
    """One task for every hundred rows that come in, and for those that go on as far as is known."""
    taken = sum(rows.values())
    return Tasks(1 + taken // 100, (1 + flows.get("node", taken) // 100,))


def fresh(*inputs: str) -> Coordinator:
    coordinator = Coordinator(inputs or ("s",), split)
    assert coordinator.handle(Recovered(Snapshot(), None)) == []
    return coordinator


def after(intent: Intent) -> Snapshot:
    return Snapshot(
        epoch=intent.epoch,
        positions={name: taken.end for name, taken in intent.inputs.items()},
        ctis={name: taken.new for name, taken in intent.inputs.items()},
    )


def test_nothing_to_do_costs_nothing() -> None:
    coordinator = fresh()
    assert coordinator.handle(Offered({"s": Offer(0, BEGINNING)})) == []
    assert coordinator.state == "idle"


def test_an_epoch_is_recorded_before_it_is_executed() -> None:
    intent = Intent(0, {"s": Range(0, 10, BEGINNING, 5)}, 1, (1,))
    assert fresh().handle(Offered({"s": Offer(10, 5)})) == [Record(intent), Execute(intent)]


def test_time_alone_is_work() -> None:
    (record, _) = fresh().handle(Offered({"s": Offer(0, 7)}))
    assert isinstance(record, Record)
    assert record.intent.inputs["s"] == Range(0, 0, BEGINNING, 7)


def test_the_next_intent_goes_into_the_commit() -> None:
    coordinator = fresh()
    coordinator.handle(Offered({"s": Offer(10, 5)}))
    (commit,) = coordinator.handle(Executed({"s": Offer(250, 9)}))
    assert isinstance(commit, Commit)
    assert commit.following == Intent(1, {"s": Range(10, 250, 5, 9)}, 3, (3,))
    assert coordinator.handle(Committed(after(commit.intent), None)) == [Execute(commit.following)]


def test_a_recorded_intent_is_executed_first_at_start() -> None:
    intent = Intent(4, {"s": Range(7, 9, 1, 2)}, 1, (1,))
    coordinator = Coordinator(("s",), split)
    snapshot = Snapshot(epoch=3, positions={"s": 7}, ctis={"s": 1})
    assert coordinator.handle(Recovered(snapshot, intent)) == [Execute(intent)]


def test_stop_finishes_the_epoch_in_hand() -> None:
    coordinator = fresh()
    coordinator.handle(Offered({"s": Offer(10, 5)}))
    assert coordinator.handle(StopRequested()) == []
    (commit,) = coordinator.handle(Executed({"s": Offer(99, 50)}))
    assert isinstance(commit, Commit)
    assert commit.following is None
    assert coordinator.handle(Committed(after(commit.intent), None)) == [Halt()]


def test_a_failure_halts_and_keeps_the_intent_for_the_next_start() -> None:
    coordinator = fresh()
    coordinator.handle(Offered({"s": Offer(10, 5)}))
    assert coordinator.handle(Failed()) == [Halt()]
    assert coordinator.state == "halted"


def test_an_impossible_event_tells_the_story() -> None:
    coordinator = fresh()
    with pytest.raises(InvalidTransition, match=r"Executed while idle.*new\+Recovered"):
        coordinator.handle(Executed({}))


def test_what_was_counted_decides_and_is_recorded() -> None:
    coordinator = Coordinator(("s",), split)
    coordinator.handle(Recovered(Snapshot(flows={"node": 5}), None))
    record, execute = coordinator.handle(Offered({"s": Offer(250, 9)}))
    assert isinstance(record, Record)
    assert (record.intent.readers, record.intent.parts) == (3, (1,))
    assert Intent.from_json(record.intent.to_json()) == record.intent
    assert execute == Execute(record.intent)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.booleans()), max_size=30), st.integers(0, 30))
def test_invariants_hold_and_ranges_follow_each_other(offers: list[tuple[int, int, bool]], stop_at: int) -> None:
    """Any sequence of growing offers: ranges are consecutive, time never goes back, nothing is skipped."""
    coordinator = fresh("a", "b")
    ends, ctis, committed = {"a": 0, "b": 0}, {"a": BEGINNING, "b": BEGINNING}, []
    for number, (rows, time, which) in enumerate(offers):
        name = "a" if which else "b"
        ends[name] += rows
        ctis[name] = max(ctis[name], time)
        offered = {key: Offer(ends[key], ctis[key]) for key in ends}
        if number == stop_at:
            coordinator.handle(StopRequested())
        todo = coordinator.handle(Offered(offered)) if coordinator.state == "idle" else []
        coordinator.validate()
        while todo:
            instruction = todo.pop(0)
            if isinstance(instruction, Execute):
                todo += coordinator.handle(Executed(offered))
            elif isinstance(instruction, Commit):
                committed.append(instruction.intent)
                todo += coordinator.handle(Committed(after(instruction.intent), None))
            coordinator.validate()
    position, cti = {"a": 0, "b": 0}, {"a": BEGINNING, "b": BEGINNING}
    for epoch, intent in enumerate(committed):
        assert intent.epoch == epoch
        for name, taken in intent.inputs.items():
            assert (taken.start, taken.old) == (position[name], cti[name])
            position[name], cti[name] = taken.end, taken.new
    if stop_at >= len(offers):
        assert position == ends
        assert cti == ctis
