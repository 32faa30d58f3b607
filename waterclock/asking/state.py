"""The state of a vertex as a table: the live rows that its operators remember, one table beside the other."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import polars as pl

from waterclock.asking.reading import Laid, alone
from waterclock.catalog import Catalog
from waterclock.errors import StoreError
from waterclock.hashing import SPACE
from waterclock.schema import HASH, TYPES, VE, VS, Schema
from waterclock.state import GONE, ID, Indexed, Run, Table
from waterclock.storage import read, write_frame
from waterclock.streams import Declaration
from waterclock.time import BEGINNING, FOREVER

OPERATOR, TABLE = "operator", "table"
_OWN = (VS, VE, HASH, ID, GONE)
_PART = re.compile(r"_(\d+)(\w+)")


def rows_of(catalog: Catalog, vertex: str, epoch: int) -> pl.DataFrame:
    """What is remembered after an epoch: operator, table, and the columns of all tables; null where one has none."""
    found = catalog.epochs.get(vertex)
    if found.lost is not None and epoch == found.epoch:
        raise StoreError("QUERY.NO_STATE", vertex=vertex)
    lows, labels = catalog.epochs.snapshot(vertex, epoch).lows, catalog.epochs.operators(vertex)
    tables: dict[tuple[str, str], list[Run]] = {}
    for _, run in catalog.epochs.runs(vertex, epoch):
        tables.setdefault((run.operator, run.table), []).append(run)
    frames = [schema_of(None).empty()]
    for (operator, table), runs in sorted(tables.items()):
        decoded = [Indexed(read(catalog.root, run.blob)) for run in runs]
        mortal = any(ID in run.frame.columns for run in decoded)
        low = lows.get(f"{operator}:{table}", BEGINNING)
        live = Table(decoded, (0, SPACE), low, mortal).all()
        if live is not None:
            frames.append(_shown(live, labels.get(operator, operator), table))
    return pl.concat(frames, how="diagonal_relaxed")


def lay_state(catalog: Catalog, vertex: str, epoch: int, schema: Schema, folder: Path) -> Laid:
    """With these columns, whichever tables have rows at the moment."""
    rows = rows_of(catalog, vertex, epoch)
    missing = [pl.lit(None, kind).alias(name) for name, kind in schema.polars().items() if name not in rows.columns]
    rows = rows.with_columns(missing).select(VS, VE, *schema.names)
    name = f"state.{vertex}"
    blob = write_frame(folder, f"{name}.{epoch}.arrow", rows)
    return alone(Declaration(name, schema, None), replace(blob, path=str(folder / blob.path)), rows.height)


def schema_of(rows: pl.DataFrame | None) -> Schema:
    kinds = {OPERATOR: "string", TABLE: "string"}
    for name, kind in rows.schema.items() if rows is not None else ():
        if name not in (VS, VE):
            kinds[name] = next(word for word, known in TYPES.items() if known == kind)
    return Schema.of(kinds)


def _shown(live: pl.DataFrame, operator: str, table: str) -> pl.DataFrame:
    """Without what only the machinery needs, in types that a query knows; others as texts."""
    columns: list[pl.Expr] = []
    for name, kind in live.schema.items():
        if name not in _OWN:
            columns.append(_plain(pl.col(name), kind).alias(_public(name)))
    named = pl.lit(operator).alias(OPERATOR), pl.lit(table).alias(TABLE)
    ends = pl.col(VE).clip(upper_bound=FOREVER)
    return live.select(pl.col(VS), ends, *named, *columns)


def _public(name: str) -> str:
    """Parts of the third aggregate are ``agg2_n``; other names of the machinery lose their underscore."""
    part = _PART.fullmatch(name)
    if part is not None:
        return f"agg{part[1]}_{part[2]}"
    return f"{name.strip('_')}_" if name.startswith("_") or name in (OPERATOR, TABLE) else name


def _plain(column: pl.Expr, kind: pl.DataType) -> pl.Expr:
    if kind in TYPES.values():
        return column
    if kind.is_integer():
        return column.cast(pl.Int64, strict=False)
    if kind.is_nested():
        return pl.struct(column).struct.json_encode()
    return column.cast(pl.String, strict=False)
