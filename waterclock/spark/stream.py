"""Reading as a stream: an offset is the number of the next event, and a pin keeps what Spark has not done yet.

An offset also says where the query began and what its pin is called: Spark keeps offsets in its checkpoint, and that
is all that is there of a query after a restart.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from waterclock.catalog import Catalog, StreamRow
from waterclock.errors import ConfigError, StoreError
from waterclock.spark.options import EARLIEST, LATEST
from waterclock.spark.read import Part, Rows

Offset = dict[str, Any]
SEQ, BEGUN, PIN = "seq", "begun", "pin"


class OffsetReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, rows: Rows, starting: str | int, max_rows: int | None) -> None:
        self._rows = rows
        self._starting = starting
        self._max_rows = max_rows
        self._target: int | None = None
        """Of a query that ends with what is there when it starts."""
        self._pinned = False

    def initialOffset(self) -> Offset:
        """Of a new query, and of one that was killed in its first batch: that one goes by its recorded end."""
        with closing(self._open()) as catalog:
            row = self._row(catalog)
        seq = {EARLIEST: row.first, LATEST: row.durable}.get(str(self._starting))
        if seq is None:
            seq = int(self._starting)
            if seq < row.first:
                raise StoreError("STREAM.TRIMMED", seq=seq, stream=self._rows.stream, first=row.first)
            if seq > row.durable:
                fix = f"{self._rows.stream!r} has events up to {row.durable}: choose 'latest' to begin behind them."
                raise ConfigError("CONFIG.BAD_OPTION", option="starting", value=seq, fix=fix)
        return {SEQ: seq, BEGUN: seq, PIN: f"spark-{uuid.uuid4().hex[:12]}"}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable() if self._max_rows is None else ReadMaxRows(self._max_rows)

    def prepareForTriggerAvailableNow(self) -> None:
        with closing(self._open()) as catalog:
            self._target = self._row(catalog).durable

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """Up to what is durable, so that nothing that Spark has seen can be taken back."""
        with closing(self._open()) as catalog:
            if not self._pinned:
                catalog.pins.move(start[PIN], self._rows.stream, start[SEQ])
                self._pinned = True
            row = self._row(catalog)
        if row.durable < start[SEQ]:
            raise StoreError("STREAM.SHORTER", stream=row.name, durable=row.durable, seq=start[SEQ])
        end = row.durable if self._target is None else min(row.durable, self._target)
        if isinstance(limit, ReadMaxRows):
            end = min(end, start[SEQ] + limit.max_rows)
        return {**start, SEQ: max(end, start[SEQ])}

    def reportLatestOffset(self) -> Offset:
        with closing(self._open()) as catalog:
            return {SEQ: self._row(catalog).durable}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        # Spark does not record where a query began: after a crash in its first batch it asks for that anew.
        begin = start[SEQ] if start[PIN] == end[PIN] else end[BEGUN]
        with closing(self._open()) as catalog:
            return catalog.transact(lambda: self._rows.parts(catalog, begin, end[SEQ]))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Part)
        return self._rows.batches(partition)

    def commit(self, end: Offset) -> None:
        with closing(self._open()) as catalog:
            catalog.pins.move(end[PIN], self._rows.stream, end[SEQ])

    def _open(self) -> Catalog:
        return Catalog.open(self._rows.store)

    def _row(self, catalog: Catalog) -> StreamRow:
        return catalog.streams.get(self._rows.stream)
