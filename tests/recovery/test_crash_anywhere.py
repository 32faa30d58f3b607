"""The driver is killed with SIGKILL at every numbered step of the protocol and at random moments, then restarted."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.recovery.harness import Outcome, outcome, run, run_and_kill_after, same
from waterclock.crashpoints import PLACES

RANDOM_KILLS = 200
ON_POSTGRES = 8
"""A tenth and less there: the protocol is the same, and what is other has tests of its own."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert run(folder)
    result = outcome(folder)
    assert result.totals.height > 5
    assert result.per_user.height > 100
    return result


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("preloaded")
    assert run(folder, "--preload")
    return outcome(folder)


@pytest.mark.parametrize("place", PLACES)
def test_killed_at_every_step(place: str, undisturbed: Outcome, preloaded: Outcome, tmp_path: Path) -> None:
    """Early and later: the same step hits other epochs. Epochs are cut alike, so each must have the same digest."""
    kills = 0
    for visit in (1, 2, 5):
        kills += not run(tmp_path, "--preload", crash=f"{place}:{visit}")
    assert kills, f"{place} is never reached"
    assert run(tmp_path, "--preload")
    found = outcome(tmp_path)
    same(found, undisturbed)
    assert found.digests == preloaded.digests
    assert found.per_user.equals(preloaded.per_user)  # the same rows under the same numbers


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
def test_killed_at_every_step_with_postgres(preloaded: Outcome, tmp_path: Path, each_database: str) -> None:
    """One step after another on one store, and on the next when that is done: digests are those with SQLite."""
    places, killed, stores = list(PLACES), 0, 0
    while places:
        stores += 1
        folder = tmp_path / str(stores)
        folder.mkdir()
        while places and not run(folder, "--preload", crash=f"{places[0]}:2"):
            killed += 1
            del places[0]
        assert run(folder, "--preload")
        found = outcome(folder)
        assert found.digests == preloaded.digests
        assert found.per_user.equals(preloaded.per_user)
        same(found, preloaded)
        assert stores <= len(PLACES), f"{places[0]} is never reached"
    assert killed == len(PLACES)


def test_killed_at_random_places(undisturbed: Outcome, tmp_path: Path, each_database: str) -> None:
    """Each store is killed at random steps until a run comes through; two stores at a time, until enough kills."""

    def one_store(seed: int) -> int:
        choose = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        kills = 0
        while not run(folder, crash=f"{choose.choice(PLACES)}:{choose.randint(1, 3)}"):
            kills += 1
        assert run(folder)
        same(outcome(folder), undisturbed)
        return kills

    seeds, kills = iter(range(1000)), 0
    with ThreadPoolExecutor(2) as pool:
        while kills < (ON_POSTGRES if each_database else RANDOM_KILLS):
            kills += sum(pool.map(one_store, [next(seeds) for _ in range(2)]))


@pytest.mark.soak
def test_killed_at_very_many_random_places(
    undisturbed: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.recovery.test_crash_anywhere.RANDOM_KILLS", 2000)
    test_killed_at_random_places(undisturbed, tmp_path, "")


def test_killed_at_random_moments(undisturbed: Outcome, tmp_path: Path, each_database: str) -> None:
    choose = random.Random(7)

    def one_store(seed: int) -> int:
        folder = tmp_path / str(seed)
        folder.mkdir()
        kills = sum(not run_and_kill_after(folder, choose.random() * 0.8) for _ in range(5))
        assert run(folder)
        same(outcome(folder), undisturbed)
        return kills

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(one_store, range(2 if each_database else 6))) > 0
