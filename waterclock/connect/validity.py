"""Lifetimes as people read them: ``valid_from`` and ``valid_to`` in front of the columns, in every sink alike."""

from __future__ import annotations

import polars as pl

from waterclock.errors import ConfigError
from waterclock.schema import TYPES, VE, VS, Schema
from waterclock.time import FOREVER

FROM = "valid_from"
TO = "valid_to"


def check_free(schema: Schema) -> None:
    """Both names must be free; found before anything runs."""
    for name in (FROM, TO):
        if name in schema:
            raise ConfigError("SCHEMA.DUPLICATE_COLUMN", column=name)


def with_times(rows: pl.DataFrame) -> pl.DataFrame:
    """As timestamps; an open end is null."""
    end = pl.when(pl.col(VE) != FOREVER).then(pl.col(VE))
    instants = pl.col(VS).cast(TYPES["timestamp"]).alias(FROM), end.cast(TYPES["timestamp"]).alias(TO)
    return rows.select(*instants, pl.exclude(VS, VE))


def with_texts(rows: pl.DataFrame) -> pl.DataFrame:
    """As ``with_times``, with every timestamp in ISO 8601 and bytes in base64."""
    return texts(with_times(rows))


def texts(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(
        pl.selectors.datetime().dt.strftime("%Y-%m-%dT%H:%M:%S%.fZ"), pl.selectors.binary().bin.encode("base64")
    )
