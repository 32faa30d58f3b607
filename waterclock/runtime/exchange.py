"""Blocks: rows on their way from one stage of an epoch to the next.

Within a process they are frames. Between processes a small table travels as Arrow bytes, cut for each range of keys;
a large one is written once, in order of hash, to a file of the store, where every task maps its range. Such a file can
become a run of the state as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import polars as pl

from waterclock.hashing import ranges
from waterclock.runtime.files import INLINE, Saved, decoded, save
from waterclock.state import slice_range
from waterclock.storage import encode
from waterclock.storage.blobs import decode


@dataclass(frozen=True)
class Block:
    """One comes from every origin to every task, empty or not: it carries time."""

    target: str
    leg: int
    origin: int
    cti: int
    top: int
    tables: dict[str, pl.DataFrame]
    shared: frozenset[str] = frozenset()
    """Tables that every task gets whole."""
    files: dict[str, Saved] = field(default_factory=dict)
    """The files that tables are parts of, where they came through one."""

    def part(self, keys: tuple[int, int]) -> Block:
        """What a task with this range of keys gets."""
        mine = {name: rows if name in self.shared else slice_range(rows, keys) for name, rows in self.tables.items()}
        return replace(self, tables={name: rows for name, rows in mine.items() if rows.height})


@dataclass(frozen=True)
class Packed:
    """A block between processes."""

    block: Block
    """Without its tables."""
    inline: dict[str, bytes]
    files: dict[str, Saved]

    @property
    def target(self) -> str:
        return self.block.target


def pack(root: str, vertex: str, epoch: int, block: Block, parts: int) -> Iterator[tuple[int, Packed]]:
    """For each task of the next stage, what it gets."""
    large = {name for name, rows in block.tables.items() if rows.estimated_size() > INLINE}
    files = {name: save(root, f"state/{vertex}", epoch, block.tables[name], state=True) for name in sorted(large)}
    bare = replace(block, tables={})
    small = replace(block, tables={name: rows for name, rows in block.tables.items() if name not in large})
    for part, keys in enumerate(ranges(parts)):
        yield part, Packed(bare, {name: encode(rows) for name, rows in small.part(keys).tables.items()}, files)


def unpack(root: str, packed: Packed, keys: tuple[int, int]) -> Block:
    """The other end of ``pack``, in the task with this range of keys."""
    tables = {name: decode(data) for name, data in packed.inline.items()}
    for name, saved in packed.files.items():
        assert saved.blob is not None
        (run,) = decoded(root, [saved.blob], check=False)  # it was written in this epoch, by a living machine
        tables[name] = run.frame
    return replace(packed.block, tables=tables, files=packed.files).part(keys)
