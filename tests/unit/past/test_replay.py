"""``replay``: a past segment with another version, beside the store that it came from."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tests.unit.past.programs import command, program, run
from waterclock.catalog import Catalog
from waterclock.runtime.log import StreamReader
from waterclock.schema import VS


def paid(store: Path) -> pl.DataFrame:
    catalog = Catalog.open(store)
    rows = StreamReader(catalog, "paid").read(0, catalog.streams.get("paid").next)
    catalog.close()
    return rows.sort(VS, "user")


def files(store: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in store.rglob("*") if path.is_file() and "catalog" not in path.name}


def test_the_whole_past_again(tmp_path: Path) -> None:
    file = program(tmp_path)
    run(file, 5, 12, 25, 40, end=True)
    before = files(tmp_path / "store")
    code, said = command("replay", file, "--to-store", tmp_path / "again")
    assert (code, said.splitlines()[0]) == (0, "took 40 events of orders")
    assert paid(tmp_path / "again").equals(paid(tmp_path / "store"))
    assert files(tmp_path / "store") == before


def test_a_segment_with_another_version(tmp_path: Path) -> None:
    file = program(tmp_path)
    run(file, 5, 12, 25, 40, 60, end=True)
    new = program(tmp_path, price="amount * 3", name="new.py")
    words = ("--from", "1970-01-01T00:00:30Z", "--to", "1970-01-01T00:00:50Z")
    code, said = command("replay", file, "--with", new, *words, "--to-store", tmp_path / "try")
    assert code == 0, said
    assert "results depend on" in said
    old, tried = paid(tmp_path / "store"), paid(tmp_path / "try")
    within = pl.col(VS).is_between(30_000_000, 50_000_000, closed="left")
    assert (
        tried.filter(within)
        .select("user", "n", "paid")
        .equals(old.filter(within).select("user", "n", pl.col("paid") // 2 * 3))
    )
    assert tried[VS].max() == 40_000_000


def test_what_cannot_be_run_again(tmp_path: Path) -> None:
    file = program(tmp_path)
    run(file, 5)
    assert "There is a store in" in command("replay", file, "--to-store", tmp_path / "store")[1]
    backwards = ("--from", "2026-01-02", "--to", "2026-01-01")
    assert "behind --from" in command("replay", file, *backwards, "--to-store", tmp_path / "x")[1]
    new = program(tmp_path, name="new.py")
    new.write_text(new.read_text().replace('"amount": int', '"amount": float'))
    said = command("replay", file, "--with", new, "--to-store", tmp_path / "y")[1]
    assert "its columns are" in said
    assert not (tmp_path / "y").exists()


def test_events_that_retention_has_removed_are_said(tmp_path: Path) -> None:
    file = program(tmp_path)
    file.write_text(file.read_text().replace('time="ts")', 'time="ts", retention="5s")'))
    run(file, 5, 12, 25, 40, 60)
    for _ in range(2):
        command("gc", "--store", tmp_path / "store")
    catalog = Catalog.open(tmp_path / "store")
    assert catalog.streams.get("orders").first > 0
    catalog.close()
    code, said = command("replay", file, "--to-store", tmp_path / "again")
    assert (code, "was removed by retention" in said) == (1, True)
    assert not (tmp_path / "again").exists()
