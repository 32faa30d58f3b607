"""Writing: tasks check and store their rows, the driver appends all of a batch in one transaction, once.

A batch of a streaming query is known by the query's id, which is in Spark's checkpoint, and its number. Files wait in
``incoming`` until then, named uniquely per attempt: whoever loses a race or is killed leaves some that nobody names.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from waterclock.catalog import Catalog
from waterclock.connect.base import Chunk, Written
from waterclock.errors import ConfigError, DataError, RunError
from waterclock.runtime.files import INLINE
from waterclock.runtime.log import Repeated, StreamLog
from waterclock.runtime.store import INCOMING, Store
from waterclock.storage import encode, write_frame
from waterclock.storage.blobs import decode, sync_new
from waterclock.streams import Declaration
from waterclock.streams.border import extent
from waterclock.streams.segment import with_lifetime

FILE_BYTES = 64 << 20
"""A task begins another file after so many bytes."""
QUERY, BATCH = "sql.streaming.queryId", "streaming.sql.batchId"
"""What Spark tells the tasks of a streaming query."""


@dataclass(frozen=True)
class Target:
    store: str
    declaration: Declaration


@dataclass(frozen=True)
class Taken(WriterCommitMessage):
    """What one task has: rows that come along as bytes, or files in their place."""

    query: str | None
    declaration: Declaration
    parts: tuple[bytes | Written, ...]


def target_of(store: str, declaration: Declaration, found: StructType) -> Target:
    """Checks that rows may be written there, and that these have its columns."""
    if declaration.time is None:
        fix = f"{declaration.name!r} is written by an app, or a table; write to what app.stream(...) declares."
        raise ConfigError("CONFIG.BAD_OPTION", option="stream", value=declaration.name, fix=fix)
    kinds = {field.name: field.dataType.simpleString() for field in found}
    wanted = dict(declaration.schema)
    wrong = [f"{name!r} is {kinds[name]}, not {kind}" for name, kind in wanted.items() if kinds.get(name, kind) != kind]
    wrong += [f"{name!r} is missing" for name in wanted if name not in kinds]
    wrong += [f"{name!r} is not one of them" for name in kinds if name not in wanted]
    if wrong:
        raise DataError(
            "DATA.COLUMNS_DIFFER", stream=declaration.name, difference="; ".join(wrong), columns=declaration.schema
        )
    return Target(store, declaration)


def _write(target: Target, batches: Iterator[pa.RecordBatch], label: str, query: str | None) -> Taken:
    """In a task. Few rows go to the driver as they are; more are stored as events, ready to become segments."""
    parts = []
    for rows in _gathered(batches, target.declaration):
        parts.append(encode(rows) if rows.estimated_size() <= INLINE else _filed(target, rows, label))
    return Taken(query, target.declaration, tuple(parts))


def _gathered(batches: Iterator[pa.RecordBatch], declaration: Declaration) -> Iterator[pl.DataFrame]:
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
        if sum(each.nbytes for each in held) >= FILE_BYTES:
            yield _frame(held, declaration)
            held = []
    if held:
        yield _frame(held, declaration)


def _frame(batches: list[pa.RecordBatch], declaration: Declaration) -> pl.DataFrame:
    frame = pl.from_arrow(pa.Table.from_batches(batches))
    assert isinstance(frame, pl.DataFrame)
    return frame.select(pl.col(name).cast(kind) for name, kind in declaration.schema.polars().items())


def _filed(target: Target, rows: pl.DataFrame, label: str) -> Written:
    events = with_lifetime(rows.lazy(), target.declaration).collect()
    path = f"{INCOMING}/{label}-{uuid.uuid4().hex}.arrow"
    blob = write_frame(Path(target.store), path, events)
    sync_new(Path(target.store) / path)
    good, span = extent(events)
    return Written(blob, events.height, span if good else None)


def _commit(target: Target, messages: Sequence[WriterCommitMessage | None], where: str, label: str, batch: int) -> None:
    """In the driver: the rows of all tasks are one chunk, so that none of them is late because of another."""
    taken = [message for message in messages if isinstance(message, Taken)]
    parts = [part for message in taken for part in message.parts]
    writer = next((message.query for message in taken), None)
    store = Store(Catalog.open(target.store), None)
    with closing(store):
        name = target.declaration.name
        if parts:
            chunk = Chunk(None, where, token=None if writer is None else (writer, batch))
            if all(isinstance(part, bytes) for part in parts):
                rows = pl.concat(decode(part) for part in parts if isinstance(part, bytes))
                chunk = replace(chunk, rows=rows)
            else:
                files = [_filed(target, decode(part), label) if isinstance(part, bytes) else part for part in parts]
                chunk = replace(chunk, written=tuple(_moved_in(store, name, file) for file in files))
            log = StreamLog(store, name)
            for message in taken:
                changed = message.declaration.difference(log.row.declaration)
                if changed is not None:
                    raise ConfigError("PLAN.STREAM_CHANGED", name=name, difference=changed)
            try:
                log.append(chunk, keep_position=True)
            except Repeated:
                for file in chunk.written:
                    (store.root / file.blob.path).unlink(missing_ok=True)
        _clear(store.root, label)


def _moved_in(store: Store, stream: str, file: Written) -> Written:
    """From where nobody sweeps for a day to where its segment belongs; it is named there within moments."""
    path = f"streams/{stream}/{Path(file.blob.path).name}"
    target = store.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):  # it was swept; the append says so
        os.replace(store.root / file.blob.path, target)
        os.utime(target)
    store.sync([path])
    return replace(file, blob=replace(file.blob, path=path))


def _clear(root: Path, label: str) -> None:
    """What other attempts have left."""
    for path in (root / INCOMING).glob(f"{label}-*"):
        path.unlink(missing_ok=True)


class BatchWriter(DataSourceArrowWriter):
    """``df.write``: all rows or none, once for every job that is run."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._label = f"spark-{uuid.uuid4().hex}"

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Taken:
        return _write(self._target, iterator, self._label, None)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        _commit(self._target, messages, "rows of Spark", self._label, 0)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        _clear(Path(self._target.store), self._label)


class MicroBatchWriter(DataSourceStreamArrowWriter):
    """``df.writeStream``: every batch of a query once, however often Spark makes it."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Taken:
        context = TaskContext.get()
        query = context.getLocalProperty(QUERY) if context is not None else None
        if context is None or query is None:
            raise RunError("RUN.INTERNAL", worker="writer for Spark", reason="Spark does not name its query")
        return _write(self._target, iterator, f"spark-{query}-{context.getLocalProperty(BATCH)}", query)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        query = next((message.query for message in messages if isinstance(message, Taken)), None)
        where = f"batch {batchId} of the Spark query {query}:"
        _commit(self._target, messages, where, f"spark-{query}-{batchId}", batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        query = next((message.query for message in messages if isinstance(message, Taken)), None)
        if query is not None:
            _clear(Path(self._target.store), f"spark-{query}-{batchId}")
