"""Lifetimes changed event by event. A result that would end at or before its start is dropped.

    shift(d)            [vs + d, ve + d)                                        output CTI c + d
    set_duration(d)     [vs, vs + d)                                            c
    extend(d)           [vs, ve + d)                                            c
    clip_duration(n)    [vs, min(ve, vs + n))                                   c
    point_at_end        [ve, ve + 1), nothing for an open end                   c
    quantize            [floor(vs), floor(max(ve + h - 1, vs + w)))             floor(c)
    hop_lifetime        [ceil(vs), vs' + w)                                     ceil(c)
    alter_lifetime      [f(vs), f(vs) + d)                                      f(c)
    chop (finite)       cut at the grid points strictly inside                  c

No state. Results come at once.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from waterclock.expr import to_polars
from waterclock.expr.nodes import Expr
from waterclock.plan.lifetime import (
    AlterLifetime,
    Chop,
    ClipDuration,
    Extend,
    HopLifetime,
    Lifetime,
    PointAtEnd,
    Quantize,
    SetDuration,
    Shift,
)
from waterclock.plan.nodes import Node
from waterclock.schema import VE, VS, Schema
from waterclock.time import FOREVER

_OPEN = pl.lit(FOREVER, dtype=pl.Int64)
_vs, _ve = pl.col(VS), pl.col(VE)


def _lives(frame: pl.LazyFrame, vs: pl.Expr, ve: pl.Expr) -> pl.LazyFrame:
    return frame.with_columns(vs.alias(VS), ve.alias(VE)).filter(_vs < _ve)


def _unless_open(ve: pl.Expr) -> pl.Expr:
    return pl.when(_ve == FOREVER).then(_OPEN).otherwise(ve)


def _floor(time: pl.Expr, step: int, offset: int) -> pl.Expr:
    return time - (time - offset) % step


def _ceil(time: pl.Expr, step: int, offset: int) -> pl.Expr:
    return time + (offset - time) % step


def _expression(expr: Expr, schema: Schema) -> pl.Expr:
    return to_polars(expr, schema).cast(pl.Int64)


def _until(vs: pl.Expr, duration: pl.Expr) -> pl.Expr:
    """``vs + duration``, open where the duration is null or reaches beyond all times."""
    lasting = (duration < FOREVER) & (duration < FOREVER - vs.clip(0))
    return pl.when(lasting).then(vs + duration).otherwise(_OPEN)


def _shift(node: Shift, frame: pl.LazyFrame) -> pl.LazyFrame:
    return _lives(frame, _vs + node.by, _unless_open(_ve + node.by))


def _set_duration(node: SetDuration, frame: pl.LazyFrame) -> pl.LazyFrame:
    if isinstance(node.duration, Expr):
        return _lives(frame, _vs, _until(_vs, _expression(node.duration, node.schema)))
    return _lives(frame, _vs, _until(_vs, pl.lit(node.duration, dtype=pl.Int64)))


def _extend(node: Extend, frame: pl.LazyFrame) -> pl.LazyFrame:
    return _lives(frame, _vs, _unless_open(_ve + node.by))


def _clip_duration(node: ClipDuration, frame: pl.LazyFrame) -> pl.LazyFrame:
    return _lives(frame, _vs, pl.min_horizontal(_ve, _until(_vs, pl.lit(node.limit, dtype=pl.Int64))))


def _point_at_end(node: PointAtEnd, frame: pl.LazyFrame) -> pl.LazyFrame:
    return _lives(frame.filter(_ve < FOREVER), _ve, _ve + 1)


def _quantize(node: Quantize, frame: pl.LazyFrame) -> pl.LazyFrame:
    end = pl.max_horizontal(_ve + (node.hop - 1), _vs + node.width)
    return _lives(
        frame,
        _floor(_vs, node.step, node.offset),
        _unless_open(_floor(end, node.hop, node.offset + node.width)),
    )


def _hop_lifetime(node: HopLifetime, frame: pl.LazyFrame) -> pl.LazyFrame:
    start = _ceil(_vs, node.hop, node.offset)
    end = start + node.width if node.width % node.hop == 0 else _ceil(_vs + node.width, node.hop, node.offset)
    return _lives(frame, start, end)


def _alter(node: AlterLifetime, frame: pl.LazyFrame) -> pl.LazyFrame:
    start = _expression(node.start, node.schema)
    return _lives(frame, start, _until(start, _expression(node.duration, node.schema)))


def _chop(node: Chop, frame: pl.LazyFrame) -> pl.LazyFrame:
    return chopped(node, frame, _ve)


def chopped(node: Chop, frame: pl.LazyFrame, upto: pl.Expr) -> pl.LazyFrame:
    """Cut at the grid points inside ``(vs, upto)``; the last piece goes on to the end."""
    first = _floor(_vs, node.period, node.offset)
    count = (upto - 1 - first) // node.period + 1  # pieces
    pieces = frame.with_columns(pl.int_ranges(0, count.clip(1)).alias("_piece"), first.alias("_grid"))
    pieces = pieces.with_columns(count.clip(1).alias("_count")).explode("_piece")
    start = pl.max_horizontal(_vs, pl.col("_grid") + pl.col("_piece") * node.period)
    last = pl.col("_piece") == pl.col("_count") - 1
    end = pl.when(last).then(_ve).otherwise(pl.col("_grid") + (pl.col("_piece") + 1) * node.period)
    return _lives(pieces, start, end).drop("_piece", "_grid", "_count")


APPLY: dict[type[Node], Callable[..., pl.LazyFrame]] = {
    Shift: _shift,
    SetDuration: _set_duration,
    Extend: _extend,
    ClipDuration: _clip_duration,
    PointAtEnd: _point_at_end,
    Quantize: _quantize,
    HopLifetime: _hop_lifetime,
    AlterLifetime: _alter,
    Chop: _chop,
}


def cti(node: Lifetime, c: int) -> int:
    """The output CTI of a node that changes starts; ``c`` is finite."""
    if isinstance(node, Shift):
        return c + node.by
    if isinstance(node, Quantize):
        return c - (c - node.offset) % node.step
    if isinstance(node, HopLifetime):
        return c + (node.offset - c) % node.hop
    if isinstance(node, AlterLifetime):
        at = pl.DataFrame({VS: [c], VE: [c + 1]}, schema={VS: pl.Int64, VE: pl.Int64})
        return int(at.select(_expression(node.start, node.schema)).item())
    return c
