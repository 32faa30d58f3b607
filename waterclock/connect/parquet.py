"""To a directory of Parquet files, one per delivery, named by its epochs: repeating a delivery replaces its file."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from waterclock.connect.validity import check_free, with_times
from waterclock.errors import ConfigError
from waterclock.schema import Schema
from waterclock.storage.blobs import sync_new

_NAME = re.compile(r"epochs-(\d{10,})-\d{10,}\.parquet")


@dataclass(frozen=True)
class ParquetSink:
    directory: str
    batch_rows: int = 1_000_000
    batch_seconds: float = 2.0
    guarantee: str = "idempotent"

    @property
    def target(self) -> str:
        return os.path.abspath(self.directory)

    def open(self, name: str, schema: Schema, delivered: int, position: Any) -> ParquetWriter:
        check_free(schema)
        directory = Path(self.target)
        directory.mkdir(parents=True, exist_ok=True)
        for temporary in directory.glob(".epochs-*.tmp"):
            temporary.unlink()
        found = ((path, _NAME.fullmatch(path.name)) for path in directory.iterdir())
        left = sorted(path for path, match in found if match and int(match.group(1)) > delivered)
        if delivered >= 0:
            for path in left:
                path.unlink()
            return ParquetWriter(directory, None)
        if len(left) > 1:
            raise _not_ours(directory)  # a crash in the first delivery leaves at most one
        return ParquetWriter(directory, left[0] if left else None)


class ParquetWriter:
    def __init__(self, directory: Path, left: Path | None) -> None:
        self._directory = directory
        self._left = left
        """A file that was there before the first delivery."""

    def write(self, first: int, last: int, rows: pl.DataFrame) -> None:
        frame = with_times(rows)
        target = self._directory / f"epochs-{first:010d}-{last:010d}.parquet"
        if self._left is not None:
            self._clear(self._left, frame)
        temporary = self._directory / f".{target.name}.tmp"
        frame.write_parquet(temporary)
        sync_new(temporary)
        os.replace(temporary, target)
        sync_new(target)

    def close(self) -> None:
        pass

    def _clear(self, left: Path, frame: pl.DataFrame) -> None:
        """Removes it if a crash of ours left it: then it holds the rows that come now. Another program's file stays."""
        before = pl.read_parquet(left, glob=False)
        common = min(before.height, frame.height)
        if before.schema != frame.schema or not before.head(common).equals(frame.head(common)):
            raise _not_ours(self._directory)
        left.unlink()
        self._left = None


def parquet(directory: str | os.PathLike[str], batch_rows: int = 1_000_000, batch_seconds: float = 2.0) -> ParquetSink:
    """Writes ``epochs-<first>-<last>.parquet`` with the columns ``valid_from`` and ``valid_to`` (null: open) in front.

    Epochs are gathered to one file up to ``batch_rows`` rows or for ``batch_seconds``. A file that has its name is
    complete and never changes; after a crash the same epochs give the same rows.
    """
    return ParquetSink(os.fspath(directory), batch_rows, batch_seconds)


def _not_ours(directory: Path) -> ConfigError:
    return ConfigError("SINK.NOT_OURS", path=directory, what="results of another store")
