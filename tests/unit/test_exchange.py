"""Blocks between processes: what each task gets of them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from waterclock.hashing import SPACE, ranges
from waterclock.runtime.exchange import Block, pack, unpack
from waterclock.schema import HASH, VE, VS


def rows(count: int, width: int) -> pl.DataFrame:
    hashes = pl.Series(HASH, [number * (SPACE // count) for number in range(count)], dtype=pl.UInt64)
    text = pl.Series("text", ["x" * width] * count)
    return pl.DataFrame([hashes, pl.Series(VS, range(count)), pl.Series(VE, range(1, count + 1)), text])


@pytest.mark.parametrize("width", [1, 1_000], ids=["as bytes", "as a file"])
def test_every_task_gets_its_rows(width: int, tmp_path: Path) -> None:
    table = rows(1_000, width)
    block = Block("node", 0, 0, 5, 7, {"rows": table, "all": table.head(3)}, frozenset({"all"}))
    packed = list(pack(str(tmp_path), "v", 0, block, 3))
    got = [unpack(str(tmp_path), each, keys) for (_, each), keys in zip(packed, ranges(3), strict=True)]
    assert pl.concat([each.tables["rows"] for each in got]).equals(table)
    assert all(each.tables["all"].height == 3 for each in got)
