"""Windows, spreads, stragglers and what holds time back: pure, without Spark or a clock."""

from __future__ import annotations

import pytest

from waterclock.runtime.metrics.figures import Spread, Stage, Task
from waterclock.runtime.metrics.gather import OPEN, held_by
from waterclock.runtime.metrics.stragglers import PERSISTENT, RECENT, stages
from waterclock.runtime.metrics.windows import SAMPLES, Epoch, Progress, Tasks, Window, spread
from waterclock.time import BEGINNING, FOREVER


def test_a_spread() -> None:
    assert spread([]) is None
    assert spread([2.0]) == Spread(2.0, 2.0, 2.0)
    assert spread([float(n) for n in range(100, 0, -1)]) == Spread(50.0, 95.0, 100.0)


def test_rates_are_over_the_window_only() -> None:
    window = Window(10.0)
    assert window.rate() is None
    window.add(0.0, 0)
    assert window.rate() is None
    window.add(1.0, 50)
    assert window.rate() == 50.0
    for second in range(2, 40):
        window.add(float(second), 50 if second < 25 else 50 + 10 * (second - 24))
    assert window.rate() == 10.0
    for second in range(40, 60):
        window.add(float(second), 200)
    assert window.rate() == 0.0


def test_a_clock_that_is_set_back() -> None:
    window = Window(10.0)
    for at, number in ((100.0, 0), (101.0, 5), (101.0, 6), (50.0, 7), (51.0, 9)):
        window.add(at, number)
    assert window.rate() == 2.0


def test_a_long_window_keeps_few_samples() -> None:
    window = Window(600.0)
    for second in range(5000):
        window.add(float(second), second, 2 * second)
    assert len(window._samples) <= SAMPLES + 2
    risen = window.risen()
    assert risen is not None
    assert 600 <= risen[0] <= 620
    assert risen[1] == 2 * risen[0]


@pytest.mark.parametrize(
    ("backlogs", "grew_from"),
    [
        ([10 * n for n in range(61)], 290),
        ([0] * 61, None),
        ([1000 * (n % 7) for n in range(61)], None),  # chunks that come and are taken
        ([5000 - 10 * n for n in range(61)], None),
        ([10 * n for n in range(30)], None),  # not yet long enough
        ([10 * n for n in range(40)] + [0] * 21, None),
    ],
)
def test_a_backlog_grows_if_the_later_half_is_above_the_earlier(backlogs: list[int], grew_from: int | None) -> None:
    window = Window(60.0)
    for second, backlog in enumerate(backlogs):
        window.add(float(second), backlog)
    assert window.grew_from() == grew_from


def test_progress_counts_epochs_and_keeps_the_tasks_of_those_that_have_several() -> None:
    progress = Progress()
    one, two = (Task(0, 5, 0.1),), (Task(0, 5, 0.1), Task(1, 5, 0.2))
    progress.add(Epoch(0.5, 0.1, None), Tasks(0.0, {0: one, 1: one}))
    progress.add(Epoch(1.0, 0.2, 3.0), Tasks(1.0, {0: one, 1: two}))
    assert (progress.epochs, progress.seconds, progress.arrivals, progress.arrival_seconds) == (2, 1.5, 1, 3.0)
    assert [tasks.at for tasks in progress.tasks] == [1.0]
    for number in range(2000):
        progress.add(Epoch(1.0, 0.2, 3.0), Tasks(float(number), {0: one, 1: two}))
    assert len(progress.recent) <= 500
    assert len(progress.tasks) <= 20


# -- stragglers ------------------------------------------------------------------------------------------------


def history(*rows_and_seconds: tuple[int, float], epochs: int = PERSISTENT) -> list[Tasks]:
    tasks = tuple(Task(index, rows, seconds) for index, (rows, seconds) in enumerate(rows_and_seconds))
    return [Tasks(float(at), {1: tasks}) for at in range(epochs)]


def only(found: tuple[Stage, ...]) -> Stage:
    (stage,) = found
    return stage


EVEN = [(1000, 0.1)] * 4


def test_even_tasks_have_no_straggler() -> None:
    stage = only(stages(history(*EVEN), 1.4, 10.0))
    assert (stage.stage, stage.tasks, stage.rows, stage.median, stage.stragglers) == (1, 4, 4000, 0.1, ())


@pytest.mark.parametrize(
    ("odd", "cause"),
    [
        ((5000, 0.5), "skew"),
        ((5000, 0.7), "skew"),  # a bit slower a row, but it is the rows that set it apart
        ((900, 0.5), "slow"),
        ((1000, 0.15), "slow"),
        ((1200, 2.0), "slow"),  # a few rows more, but it is the time of each
        ((0, 0.5), "slow"),  # state without input
    ],
)
def test_skew_and_slowness_are_told_apart(odd: tuple[int, float], cause: str) -> None:
    (found,) = only(stages(history(*EVEN, odd), 1.4, 10.0)).stragglers
    assert (found.stage, found.task, found.tasks, found.cause) == (1, 4, 5, cause)
    assert found.ratio == pytest.approx(odd[1] / 0.1)
    assert (found.rows, found.seconds) == odd


def test_the_only_task_with_rows_is_skew() -> None:
    (found,) = only(stages(history((0, 0.01), (8000, 0.9), (0, 0.01)), 1.4, 10.0)).stragglers
    assert (found.task, found.cause) == (1, "skew")


def test_of_two_tasks_the_other_is_the_median() -> None:
    assert only(stages(history((100, 0.1), (100, 0.13)), 1.4, 10.0)).stragglers == ()
    (found,) = only(stages(history((100, 0.1), (100, 0.15)), 1.4, 10.0)).stragglers
    assert (found.task, found.ratio) == (1, pytest.approx(1.5))


def test_few_rows_at_a_high_price_each_hold_up_nobody() -> None:
    assert only(stages(history(*EVEN, (1, 0.05)), 1.4, 10.0)).stragglers == ()


def test_a_few_milliseconds_may_be_chance() -> None:
    assert only(stages(history((10, 0.002), (10, 0.002), (10, 0.012)), 1.4, 10.0)).stragglers == ()


def test_only_what_lasts_counts() -> None:
    once = history(*EVEN, (900, 0.5))
    assert only(stages(once[1:], 1.4, 10.0)).stragglers == ()
    caught_up = history(*EVEN, (900, 0.1))
    assert only(stages([*once[:-1], caught_up[0]], 1.4, 10.0)).stragglers == ()
    assert only(stages([*caught_up, *once], 1.4, 10.0)).stragglers != ()


def test_another_number_of_tasks_means_other_ranges() -> None:
    assert only(stages([*history(*EVEN, epochs=1), *history(*EVEN, (900, 0.5), epochs=4)], 1.4, 10.0)).stragglers == ()


def test_what_is_long_ago_tells_nothing() -> None:
    assert stages(history(*EVEN, (900, 0.5)), 1.4, RECENT + 100) == ()


def test_the_factor_is_the_users() -> None:
    slow = history(*EVEN, (900, 0.25))
    assert only(stages(slow, 3.0, 10.0)).stragglers == ()
    assert only(stages(slow, None, 10.0)).stragglers == ()
    assert only(stages(slow, 2.0, 10.0)).stragglers != ()


def test_the_slowest_come_first_and_are_few() -> None:
    stage = only(stages(history(*((10, 0.1 + n / 1000) for n in range(50))), 1.4, 10.0))
    assert stage.tasks == 50
    assert [task.index for task in stage.slowest] == list(range(49, 41, -1))


def test_stages_with_one_task_are_left_out() -> None:
    assert stages([Tasks(0.0, {0: (Task(0, 1, 0.1),), 1: (Task(0, 1, 0.1), Task(1, 1, 0.1))})], 1.4, 0.0)[0].stage == 1


# -- what holds time back --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cti", "seen", "there", "expected"),
    [
        (10, {"a": 10}, {"a": 10}, None),
        (FOREVER, {"a": FOREVER}, {"a": FOREVER}, None),
        (5, {"a": 10}, {"a": 10}, OPEN),
        (5, {"a": 10}, {"a": 20}, "what is not yet taken of a"),
        (5, {"a": 5, "b": 9}, {"a": 5, "b": 9}, "the time of a"),
        (5, {"a": 5, "b": 9}, {"a": 8, "b": 9}, "what is not yet taken of a"),
        (5, {"a": 5, "table": FOREVER}, {"a": 5, "table": FOREVER}, None),
        (3, {"a": 5, "table": FOREVER}, {"a": 5, "table": FOREVER}, OPEN),
        (BEGINNING, {"a": BEGINNING, "b": 7}, {"a": BEGINNING, "b": 7}, "the time of a"),
        (5, {"a": 9, "b": 5}, {"a": FOREVER, "b": FOREVER}, "what is not yet taken of b"),
        (BEGINNING, {}, {}, None),
    ],
)
def test_what_holds_the_output_back(
    cti: int, seen: dict[str, int], there: dict[str, int], expected: str | None
) -> None:
    assert held_by(cti, seen, there) == expected
