"""Arrays. Places count from 1, but for ``get``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import polars as pl
import pyarrow as pa

from waterclock.expr.functions.base import ByType, define, eg, strictly
from waterclock.expr.functions.buffers import broadcast
from waterclock.schema import TYPES, element_type


def _lists(flat: pl.Series, owners: np.ndarray, height: int) -> pl.Series:
    """One list for each row, of the elements that belong to it."""
    ends = np.cumsum(np.bincount(owners, minlength=height))
    offsets = pa.array(np.concatenate([[0], ends]), type=pa.int64())
    return pl.Series(pa.LargeListArray.from_arrays(offsets, flat.to_arrow()), dtype=pl.List(flat.dtype))


def _elementwise(
    apply: Callable[[pl.Series, np.ndarray, pl.Series], pl.Series], result: str, lists: pl.Expr, value: pl.Expr
) -> pl.Expr:
    """A function of all elements in one column, the row of each, and each row's value beside it."""

    def over(columns: Sequence[pl.Series]) -> pl.Series:
        rows, values = broadcast(columns)
        owners = np.repeat(np.arange(len(rows)), rows.list.len().fill_null(0).to_numpy())
        flat = rows.explode(empty_as_null=False, keep_nulls=False)
        return apply(flat, owners, values).alias(columns[0].name)

    known = lists.is_not_null() & value.is_not_null()
    return pl.when(known).then(pl.map_batches([lists, value], over, return_dtype=TYPES[result], is_elementwise=True))


def _places(flat: pl.Series, owners: np.ndarray, values: pl.Series) -> pl.Series:
    """The place of the first element that is the value, 0 if there is none."""
    hits = np.flatnonzero((flat == values.gather(owners)).fill_null(False).to_numpy())
    found = np.zeros(len(values), dtype=np.int64)
    rows, first = np.unique(owners[hits], return_index=True)
    starts = np.searchsorted(owners, rows)
    found[rows] = hits[first] - starts + 1
    return pl.Series(found)


def _without(flat: pl.Series, owners: np.ndarray, values: pl.Series) -> pl.Series:
    """The lists without the elements that are the value."""
    kept = ~(flat == values.gather(owners)).fill_null(False).to_numpy()
    return _lists(flat.filter(pl.Series(kept)), owners[kept], len(values))


def _single(value: pl.Expr, kind: str) -> pl.Expr:
    """As one element: Polars would take the elements of a list one by one."""
    return pl.list(value) if element_type(kind) is not None else value


def _array(kinds: Sequence[str], result: str) -> Callable[..., pl.Expr]:
    return lambda *values: pl.concat_list(_single(value, kinds[0]) for value in values)


def _appended(last: bool) -> Callable[..., Callable[..., pl.Expr]]:
    def make(kinds: Sequence[str], result: str) -> Callable[..., pl.Expr]:
        def form(a: pl.Expr, value: pl.Expr) -> pl.Expr:
            element = _single(value, kinds[1])
            return pl.when(a.is_not_null()).then(pl.concat_list(a, element) if last else pl.concat_list(element, a))

        return form

    return make


def _position(kinds: Sequence[str], result: str) -> Callable[..., pl.Expr]:
    return lambda a, value: _elementwise(_places, "bigint", a, value)


def _remove(kinds: Sequence[str], result: str) -> Callable[..., pl.Expr]:
    return lambda a, value: _elementwise(_without, result, a, value)


def _one_zero(a: pl.Expr, kind: str) -> pl.Expr:
    """Arrays in which -0.0 is 0.0, as where elements are compared."""
    if element_type(kind) not in ("float", "double"):
        return a
    return a.list.eval(pl.when(pl.element() == 0).then(0.0).otherwise(pl.element()))


def _distinct(kinds: Sequence[str], result: str) -> Callable[..., pl.Expr]:
    return lambda a: _one_zero(a, result).list.unique(maintain_order=True)


def _union(kinds: Sequence[str], result: str) -> Callable[..., pl.Expr]:
    return lambda a, b: _one_zero(pl.concat_list(a, b), result).list.unique(maintain_order=True)


def _compared(how: Literal["semi", "anti"]) -> Callable[..., Callable[..., pl.Expr]]:
    """The distinct elements of the left that the right has, or has not, in their order."""

    def elements(lists: pl.Series) -> pl.DataFrame:
        counts = lists.list.len().fill_null(0).to_numpy()
        flat = lists.explode(empty_as_null=False, keep_nulls=False)
        return pl.DataFrame({"row": np.repeat(np.arange(len(lists)), counts), "element": flat})

    def over(columns: Sequence[pl.Series]) -> pl.Series:
        left, right = broadcast(columns)
        ours = elements(left).unique(maintain_order=True)
        kept = ours.join(elements(right), on=["row", "element"], how=how, nulls_equal=True, maintain_order="left")
        return _lists(kept["element"], kept["row"].to_numpy(), len(left)).alias(columns[0].name)

    def make(kinds: Sequence[str], result: str) -> Callable[..., pl.Expr]:
        def form(a: pl.Expr, b: pl.Expr) -> pl.Expr:
            return pl.map_batches(
                [_one_zero(a, result), _one_zero(b, result)], over, return_dtype=TYPES[result], is_elementwise=True
            )

        return strictly(form)

    return make


def _contains(a: pl.Expr, value: pl.Expr) -> pl.Expr:
    found = _elementwise(_places, "bigint", a, value) > 0
    return pl.when(found | (a.list.drop_nulls().list.len() == a.list.len())).then(found)


def _element_at(a: pl.Expr, place: pl.Expr) -> pl.Expr:
    index = pl.when(place > 0).then(place - 1).when(place < 0).then(place)
    return pl.when(index.is_not_null()).then(a.list.get(index, null_on_oob=True))


def _overlap(a: pl.Expr, b: pl.Expr) -> pl.Expr:
    ours, theirs = a.list.drop_nulls(), b.list.drop_nulls()
    shared = ours.list.set_intersection(theirs).list.len() > 0
    nulls = (ours.list.len() < a.list.len()) | (theirs.list.len() < b.list.len())
    unknown = nulls & (a.list.len() > 0) & (b.list.len() > 0)
    return pl.when(shared | ~unknown).then(shared)


def _slice(a: pl.Expr, start: pl.Expr, count: pl.Expr) -> pl.Expr:
    size = a.list.len().cast(pl.Int64)
    first = pl.when(start > 0).then(start.cast(pl.Int64) - 1).when(start < 0).then(size + start)
    inside = (first >= 0) & (first < size)
    kept = pl.when(inside).then(pl.max_horizontal(count.cast(pl.Int64), pl.lit(0, dtype=pl.Int64))).otherwise(0)
    return pl.when((start != 0) & (count >= 0)).then(a.list.slice(pl.when(inside).then(first).otherwise(0), kept))


def _sequence(kinds: Sequence[str], result: str) -> Callable[..., pl.Expr]:
    def form(start: pl.Expr, stop: pl.Expr) -> pl.Expr:
        a, b = start.cast(pl.Int64), stop.cast(pl.Int64)
        rising, falling = pl.int_ranges(a, b + 1, 1), pl.int_ranges(a, b - 1, -1)
        return pl.when(a <= b).then(rising).otherwise(falling)

    return strictly(form)


def _joined(a: pl.Expr, separator: pl.Expr, null: str | None = None) -> pl.Expr:
    kept = a.list.drop_nulls() if null is None else a.list.eval(pl.element().fill_null(null))
    return pl.when(separator.is_not_null()).then(kept.list.join(separator))


def _greatest(a: pl.Expr) -> pl.Expr:
    """Polars' own skips NaN, which is greater than every number here."""
    return a.list.drop_nulls().list.sort(descending=True).list.get(0, null_on_oob=True)


def _flatten(a: pl.Expr) -> pl.Expr:
    missing = a.list.eval(pl.element().is_null()).list.any()
    return pl.when(~missing).then(a.list.eval(pl.element().explode(empty_as_null=False, keep_nulls=False)))


def _ordered(descending: bool, nulls_last: bool) -> Callable[[pl.Expr], pl.Expr]:
    return lambda a: a.list.sort(descending=descending, nulls_last=nulls_last)


TABLE = [
    define("array(first T, more T...) array<T>", "The values as an array.", ByType(_array), eg(1, 2, gives=[1, 2])),
    define("size(array array<T>) int", "How many elements; -1 for null.", lambda a: a.list.len().cast(pl.Int32).fill_null(-1),
           eg([1, 2], gives=2), aliases=("cardinality",)),
    define("array_size(array array<T>) int", "How many elements.", lambda a: a.list.len(), eg([1, 2], gives=2)),
    define("element_at(array array<T>, place int) T", "The element at a place, from the end if negative; null if there is none.", _element_at,
           eg([1, 2], -1, gives=2), lambda a, n: f"element_at({a}, nullif({n}, 0))"),
    define("get(array array<T>, index int) T", "The element at an index from 0; null if there is none.",
           lambda a, n: pl.when(n >= 0).then(a.list.get(n, null_on_oob=True)), eg([1, 2], 0, gives=1)),
    define("array_contains(array array<T>, value T) boolean", "Whether an element is the value; null if none is but one is null.", _contains,
           eg([1, 2], 2, gives=True)),
    define("array_position(array array<T>, value T) bigint", "The place of the first element that is the value, 0 if there is none.",
           ByType(_position), eg([1, 2], 2, gives=2)),
    define("array_remove(array array<T>, value T) array<T>", "Without the elements that are the value.", ByType(_remove), eg([1, 2, 1], 1, gives=[2])),
    define("array_append(array array<T>, value T) array<T>", "With the value behind the last.",
           ByType(_appended(last=True)), eg([1], 2, gives=[1, 2])),
    define("array_prepend(array array<T>, value T) array<T>", "With the value before the first.",
           ByType(_appended(last=False)), eg([1], 2, gives=[2, 1])),
    define("array_compact(array array<T>) array<T>", "Without nulls.", lambda a: a.list.drop_nulls(), eg([1, None], gives=[1])),
    define("array_distinct(array array<T>) array<T>", "Each element once, in the order in which they come.", ByType(_distinct),
           eg([2, 1, 2], gives=[2, 1])),
    define("array_union(left array<T>, right array<T>) array<T>", "The elements of both, each once.",
           ByType(_union), eg([1, 2], [2, 3], gives=[1, 2, 3])),
    define("array_intersect(left array<T>, right array<T>) array<T>", "The elements that both have, each once.",
           ByType(_compared("semi")), eg([1, 2], [2, 3], gives=[2])),
    define("array_except(left array<T>, right array<T>) array<T>", "The elements that only the left has, each once.",
           ByType(_compared("anti")), eg([1, 2], [2, 3], gives=[1])),
    define("arrays_overlap(left array<T>, right array<T>) boolean", "Whether both have an element in common; null if that depends on a null.", _overlap,
           eg([1, 2], [2, 3], gives=True)),
    define("array_join(array array<string>, separator string, null const string = None) string",
           "The elements as one text; nulls are left out, or written as said.", _joined, eg(["a", None, "b"], "-", gives="a-b")),
    define("array_max(array array<O>) O", "The greatest element.", _greatest, eg([1, 3, 2], gives=3)),
    define("array_min(array array<O>) O", "The least element.", lambda a: a.list.drop_nulls().list.sort().list.get(0, null_on_oob=True),
           eg([2, 1], gives=1)),
    define("array_repeat(value T, count int) array<T>", "The value so many times.",
           lambda a, n: pl.when(n.is_not_null()).then(a.repeat_by(pl.max_horizontal(n, pl.lit(0, dtype=pl.Int32)))), eg("a", 2, gives=["a", "a"])),
    define("array_sort(array array<O>) array<O>", "In order, nulls last.", _ordered(False, True), eg([2, None, 1], gives=[1, 2, None])),
    define("sort_array(array array<O>, ascending const boolean = True) array<O>", "In order, nulls first; or in reverse order, nulls last.",
           lambda a, up: _ordered(not up, not up)(a), eg([2, None, 1], gives=[None, 1, 2])),
    define("slice(array array<T>, start int, count int) array<T>", "So many elements from a place on, which counts from the end if negative.", _slice,
           eg([1, 2, 3], 2, 2, gives=[2, 3]), lambda a, n, m: f"slice({a}, nullif({n}, 0), IF({m} < 0, NULL, {m}))"),
    define("flatten(array array<array<T>>) array<T>", "The elements of the elements; null if one of them is null.", _flatten,
           eg([[1], [2, 3]], gives=[1, 2, 3])),
    define("sequence(start I, stop I) array<I>", "The whole numbers from start to stop, rising or falling.", ByType(_sequence), eg(3, 1, gives=[3, 2, 1])),
]  # fmt: skip
