"""Blobs: what was written is what is read."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from waterclock.storage import read, write_frame


@pytest.mark.parametrize("kind", [pl.Int64, pl.Int128])
def test_a_large_blob_comes_back_as_it_was(kind: type[pl.DataType], tmp_path: Path) -> None:
    """Large ones are mapped where Arrow knows their types."""
    frame = pl.DataFrame({"a": pl.Series(range(200_000), dtype=kind), "b": [f"text {n}" for n in range(200_000)]})
    blob = write_frame(tmp_path, "large.arrow", frame)
    assert blob.length > 1 << 20
    assert read(tmp_path, blob).equals(frame)
