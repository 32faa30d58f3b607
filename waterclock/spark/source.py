"""What Spark asks for when somebody says ``format("waterclock")``."""

from __future__ import annotations

from contextlib import closing

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from waterclock.batch.expressions import quoted
from waterclock.catalog import Catalog, StreamRow
from waterclock.errors import ConfigError
from waterclock.lang.sql.predicate import predicate
from waterclock.spark.options import Options
from waterclock.spark.read import BatchReader, Rows, columns_of
from waterclock.spark.stream import OffsetReader
from waterclock.spark.write import BatchWriter, MicroBatchWriter, Target, target_of


class WaterclockSource(DataSource):
    """Spark makes one in every process that plans, and pickles it by name: executors have to be able to import it."""

    @classmethod
    def name(cls) -> str:
        return "waterclock"

    def schema(self) -> str:
        options = Options(self.options)
        declaration = self._found(options).declaration
        kinds = columns_of(declaration)
        columns = options.columns(kinds) or list(kinds)
        if options.where is not None:
            predicate(options.where, declaration.name, declaration.schema)
        return ", ".join(f"{quoted(name)} {kinds[name]}" for name in columns)

    def reader(self, schema: StructType) -> BatchReader:
        return BatchReader(self._rows(schema))

    def streamReader(self, schema: StructType) -> OffsetReader:
        options = Options(self.options)
        return OffsetReader(self._rows(schema), options.starting, options.max_rows)

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        return BatchWriter(self._target(schema, overwrite))

    def streamWriter(self, schema: StructType, overwrite: bool) -> MicroBatchWriter:
        return MicroBatchWriter(self._target(schema, overwrite))

    def _rows(self, schema: StructType) -> Rows:
        options = Options(self.options)
        found = self._found(options)
        return Rows(options.store, found.declaration, schema, options.start, options.end, options.where)

    def _target(self, schema: StructType, overwrite: bool) -> Target:
        if overwrite:
            fix = "A stream only grows: write.mode('append'), writeStream.outputMode('append')."
            raise ConfigError("CONFIG.BAD_OPTION", option="mode", value="overwrite", fix=fix)
        options = Options(self.options)
        return target_of(options.store, self._found(options).declaration, schema)

    def _found(self, options: Options) -> StreamRow:
        with closing(Catalog.open(options.store)) as catalog:
            return catalog.streams.get(options.stream)


def register(spark: SparkSession) -> None:
    """Makes ``format("waterclock")`` known to a session."""
    spark.dataSource.register(WaterclockSource)
