"""The files of a stream, for programs that read Parquet themselves."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from waterclock.catalog.catalog import Catalog

GROWING = "arrow stream"


@dataclass(frozen=True)
class StreamFile:
    path: Path
    format: str
    """``parquet`` and ``arrow`` (IPC) can be opened as they are; ``arrow stream`` holds blocks, one behind another."""
    first: int
    """The number of its first event."""
    rows: int
    in_place: bool
    """A file of the user, without lifetimes."""


def files_of(store: str | os.PathLike[str], stream: str) -> list[StreamFile]:
    """Where the durable events of a stream are, in order.

    Parquet files have all columns of the stream and its lifetimes as ``_vs`` and ``_ve``, in microseconds; they are
    never changed, but one may be merged into another and removed. What is not merged yet is in files of Arrow blocks.
    """
    with closing(Catalog.open(os.fspath(store))) as catalog:

        def found() -> list[StreamFile]:
            row = catalog.streams.get(stream)
            made: list[StreamFile] = []
            for segment in catalog.streams.segments(stream, row.first, row.durable):
                assert segment.blob is not None
                form = segment.blob.format if segment.external or segment.blob.format == "parquet" else GROWING
                path = catalog.root / segment.blob.path
                if made and made[-1].path == path:
                    last = made.pop()
                    made.append(StreamFile(path, form, last.first, last.rows + segment.rows, last.in_place))
                else:
                    made.append(StreamFile(path, form, segment.first, segment.rows, segment.external is not None))
            return made

        return catalog.transact(found)
