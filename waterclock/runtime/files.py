"""What the tasks of an epoch write, and the runs that a process keeps decoded."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from waterclock.schema import HASH, VE, VS, bounds
from waterclock.state import Indexed, RunCache
from waterclock.storage import Blob, encode, write_frame

INLINE = 256 << 10
"""Results up to this many bytes go back to the driver, which appends them to a growing file."""


@dataclass(frozen=True)
class Saved:
    """A frame that was written to a file, or comes along as bytes."""

    rows: int
    blob: Blob | None
    data: bytes | None
    least: tuple[int, int]
    """Least hash (0 for output rows) and least start."""
    greatest: tuple[int, int]
    """Greatest hash, and greatest end (state) or greatest start (output)."""


def save(root: str, directory: str, epoch: int, frame: pl.DataFrame, state: bool) -> Saved:
    """Rows of state are sorted by hash and start; those of output are as they come."""
    data = blob = None
    if frame.estimated_size() > INLINE:
        # The name is unique to this attempt: one that lost a race or was killed leaves a file that nobody names.
        blob = write_frame(Path(root), f"{directory}/e{epoch}-{uuid.uuid4().hex}.arrow", frame)
    else:
        data = encode(frame)
    hashes = (int(frame[HASH][0]), int(frame[HASH][-1])) if state else (0, 0)
    first, newest = bounds(frame, VS)
    last = bounds(frame, VE)[1] if state else newest
    return Saved(frame.height, blob, data, (hashes[0], first), (hashes[1], last))


_cache = RunCache()
_lock = threading.Lock()  # vertices of one process share the cache


def decoded(root: str, blobs: Iterable[Blob], check: bool = True) -> list[Indexed]:
    with _lock:
        return [_cache.get(Path(root), blob, check) for blob in blobs]


def retain(owner: str, live: set[Blob]) -> None:
    """Forgets what the owner needed in its last epoch and does not need in this one."""
    with _lock:
        _cache.retain(owner, live)
