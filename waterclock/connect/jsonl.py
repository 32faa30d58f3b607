"""To one growing file of JSON lines. Each delivery commits its length; what a crash left behind it is cut off."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from waterclock.connect.validity import check_free, with_texts
from waterclock.errors import ConfigError
from waterclock.schema import Schema
from waterclock.storage.blobs import sync_new


@dataclass(frozen=True)
class JsonLinesSink:
    path: str
    guarantee: str = "idempotent"
    batch_rows: int = 0
    batch_seconds: float = 0.0

    @property
    def target(self) -> str:
        return os.path.abspath(self.path)

    def open(self, name: str, schema: Schema, delivered: int, position: Any) -> JsonLinesWriter:
        check_free(schema)
        path = Path(self.target)
        path.parent.mkdir(parents=True, exist_ok=True)
        length = int(position["length"]) if position else 0
        size = path.stat().st_size if path.exists() else 0
        if size < length:
            raise ConfigError("SINK.CUT_SHORT", path=path, size=size, length=length)
        return JsonLinesWriter(path, length)


class JsonLinesWriter:
    def __init__(self, path: Path, length: int) -> None:
        self._length = length
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        if length:
            os.ftruncate(self._file, length)
        sync_new(path)

    def write(self, first: int, last: int, rows: pl.DataFrame) -> dict[str, int]:
        data = with_texts(rows).write_ndjson().encode()
        if self._length == 0:
            self._clear(data)
        written = 0
        while written < len(data):
            written += os.pwrite(self._file, memoryview(data)[written:], self._length + written)
        os.fsync(self._file)
        self._length += len(data)
        return {"length": self._length}

    def close(self) -> None:
        os.close(self._file)

    def _clear(self, data: bytes) -> None:
        """Before the first delivery: a crash of ours leaves the beginning of what comes now; the rest is not ours."""
        size = os.fstat(self._file).st_size
        if size > len(data) or os.pread(self._file, size, 0) != data[:size]:
            raise ConfigError("SINK.NOT_OURS", path=self._path, what="what this app did not write")


def jsonl(path: str | os.PathLike[str]) -> JsonLinesSink:
    """Appends a line per event, ``valid_from`` and ``valid_to`` (null: open) first, safe after each delivery."""
    return JsonLinesSink(os.fspath(path))
