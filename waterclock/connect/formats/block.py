"""A block of whole lines of a text file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Block:
    data: bytes
    where: str
    """The file's name, for errors of rows."""
    path: Path
    line: int
    """The number of the first line in the file, from 1."""
    header: bytes = b""
    """The file's first line, where the format has one; not part of ``data``."""
