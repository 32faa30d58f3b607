"""Bytes beyond the durable mark may vanish with the machine: they are found missing or torn, and computed again."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.recovery.harness import Outcome, outcome, run, same
from waterclock.catalog import Catalog
from waterclock.plan.guarded import dead_stream
from waterclock.runtime.recovery import base_of


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert run(folder, "--preload")
    return outcome(folder)


def undurable(store: Path) -> list[tuple[str, int, int]]:
    """Path, offset and length of what was committed by a vertex and not synced."""
    catalog = Catalog.open(store)
    found, complete = [], [each for each in catalog.snapshots.all() if each.state == "complete"]
    for vertex in catalog.epochs.vertices():
        stored = catalog.epochs.snapshot(vertex.name, vertex.stored)
        saved = [each.parts[vertex.name].epoch for each in complete if vertex.name in each.parts]
        runs = [*base_of(catalog, vertex), *(run for epoch in saved for run in catalog.epochs.runs(vertex.name, epoch))]
        known = {run.blob for _, run in runs}
        blobs = [run.blob for _, run in catalog.epochs.runs(vertex.name) if run.blob not in known]
        end = catalog.streams.get(vertex.name).next
        blobs += [s.blob for s in catalog.streams.segments(vertex.name, stored.output_end, end) if s.blob]
        dead = dead_stream(vertex.name)
        if dead in catalog.streams.names():
            end = catalog.streams.get(dead).next
            blobs += [s.blob for s in catalog.streams.segments(dead, stored.dead_end, end) if s.blob]
        found += [(blob.path, blob.offset, blob.length) for blob in blobs]
    catalog.close()
    return found


def stop_with_undurable_epochs(folder: Path, visit: int) -> list[tuple[str, int, int]]:
    """Committed epochs, then the power goes before the disk has them."""
    assert not run(folder, "--preload", "--never-sync", crash=f"epoch.after_commit:{visit}")
    return undurable(folder / "store")


@pytest.mark.parametrize("visit", [3, 9, 16])
@pytest.mark.parametrize("harm", ["remove all", "tear all", "remove one", "zero the end"])
def test_lost_bytes_are_computed_again(harm: str, visit: int, undisturbed: Outcome, tmp_path: Path) -> None:
    lost = stop_with_undurable_epochs(tmp_path, visit)
    assert lost, "the test needs something to lose"
    store = tmp_path / "store"
    for path, offset, length in lost[: 1 if harm == "remove one" else None]:
        file = store / path
        if not file.exists():
            continue
        if harm.startswith("remove"):
            file.unlink()
        elif harm == "tear all":
            file.write_bytes(file.read_bytes()[: offset + length // 2])
        else:
            data = bytearray(file.read_bytes())
            data[offset + length // 2 :] = bytes(len(data) - offset - length // 2)
            file.write_bytes(data)
    assert run(tmp_path, "--preload")
    found = outcome(tmp_path)
    same(found, undisturbed)
    assert found.digests == undisturbed.digests
    assert found.per_user.equals(undisturbed.per_user)


def test_a_crash_while_computing_again(undisturbed: Outcome, tmp_path: Path) -> None:
    lost = stop_with_undurable_epochs(tmp_path, 12)
    for path, _, _ in lost:
        (tmp_path / "store" / path).unlink(missing_ok=True)
    assert not run(tmp_path, "--preload", "--never-sync", crash="epoch.after_commit:2")
    assert run(tmp_path, "--preload")
    same(outcome(tmp_path), undisturbed)
    assert outcome(tmp_path).digests == undisturbed.digests


def test_other_rows_than_before_are_an_error(tmp_path: Path) -> None:
    """If doing an epoch again gives other rows, that is said and nothing is written over."""
    lost = stop_with_undurable_epochs(tmp_path, 9)
    for path, _, _ in lost:
        (tmp_path / "store" / path).unlink(missing_ok=True)
    with sqlite3.connect(tmp_path / "store" / "catalog.sqlite") as db:
        db.execute(
            "UPDATE epochs SET snapshot = replace(snapshot, '\"digest\": ', '\"digest\": 1') WHERE vertex = 'per_user'"
        )
    with pytest.raises(AssertionError, match=r"RUN\.NOT_DETERMINISTIC"):
        run(tmp_path, "--preload")


def test_durable_bytes_that_are_gone_are_an_error(tmp_path: Path) -> None:
    assert not run(tmp_path, "--preload", crash="epoch.before_commit:9")
    for file in (tmp_path / "store" / "streams" / "events").iterdir():
        file.unlink()
    with pytest.raises(AssertionError, match=r"STORE\.DAMAGED"):
        run(tmp_path, "--preload")
