"""D-Streams: what each interval of time holds, and what is made of it.

An element is a row; of a stream of pairs, the first column is the key. Elements are points at the time they have, until
an operator makes datasets: then they live for whole intervals, those whose dataset they are in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from waterclock.errors import ConfigError
from waterclock.expr.nodes import Expr, end, lit, start
from waterclock.lang.dstream.batch import MOST, collected, is_data_frame
from waterclock.lang.dstream.reduce import combined, reduced
from waterclock.lang.fluent import Stream, collect_list, count
from waterclock.plan import AlterLifetime, Elements, Explode, Track, Window
from waterclock.schema import Schema
from waterclock.time import DAY, Duration, Instant, instant, micros, show_duration
from waterclock.usercode import Code
from waterclock.usercode.elements import ElementCode
from waterclock.usercode.machine import SINGLE, Row

Reducer = Callable[..., Any]
_CLOCK = re.compile(r"\d\d:\d\d(:\d\d)?")


def dstream(stream: Stream, interval: Duration) -> DStream:
    """A stream in datasets: each event is in that of the ``interval`` that it starts in."""
    length = micros(interval)
    if length <= 0:
        raise ConfigError("PLAN.BAD_DURATION", what="the interval", value=show_duration(length))
    return DStream(stream if stream._plan.points else stream.set_duration(1), length)


@dataclass(frozen=True)
class DStream:
    """A stream as a dataset per ``interval``. Immutable: every method gives a new one."""

    stream: Stream
    """The same in the fluent API."""
    interval: int
    offset: int = 0

    @property
    def schema(self) -> Schema:
        """Names and types of the columns."""
        return self.stream.schema

    @property
    def key(self) -> str:
        """The column that pairs are grouped and joined by: the first."""
        return self.schema.names[0]

    @property
    def values(self) -> list[str]:
        """The other columns."""
        return self.schema.names[1:]

    # -- element by element --------------------------------------------------------------------------------

    def map(self, function: Callable[[Any], Any] | None = None, returns: object = None, **columns: object) -> DStream:
        """One element for each: by expressions (``map(url="url", n=wc.lit(1))``), or by a function of the element.

        A function gives a value, or a tuple of the columns that ``returns`` names with their types.
        """
        if function is None:
            return self._with(self.stream.select(**columns))
        return self._elements(function, "map", returns)

    def flat_map(
        self, function: Callable[[Any], Any] | None = None, returns: object = None, **columns: Expr
    ) -> DStream:
        """Any number of elements for each: by an array (``flat_map(word=wc.split("text", " "))``), or by a function."""
        if function is not None:
            return self._elements(function, "flat_map", returns)
        ((name, array),) = columns.items()
        return self._with(Stream(self.stream._app, Explode(self.stream._plan, name, array)).select(name))

    def filter(self, predicate: Expr | Callable[[Any], bool]) -> DStream:
        """The elements that satisfy an expression, or a function of the element."""
        if isinstance(predicate, Expr):
            return self._with(self.stream.filter(predicate))
        return self._elements(predicate, "filter", dict(self.schema))

    def _elements(self, function: Callable[..., Any], mode: str, returns: object) -> DStream:
        if returns is None:
            fix = "Name the columns it gives and their types: map(f, {'word': str, 'n': int}), or a type for one value."
            raise ConfigError("CONFIG.BAD_OPTION", option="returns", value=returns, fix=fix)
        schema = Schema.of(returns if isinstance(returns, Mapping) else {"value": returns})
        made = ElementCode(Code.of(function), mode, schema)
        return self._with(Stream(self.stream._app, Elements(self.stream._plan, made)))

    def on_error(self, policy: str, limit: int | None = None) -> DStream:
        """What becomes of elements for which the function of the last operator fails; see ``Stream.on_error``."""
        return self._with(self.stream.on_error(policy, limit))

    # -- within each interval ------------------------------------------------------------------------------

    def count(self) -> DStream:
        """The number of elements."""
        return self._with(self._per_interval().agg(count=count()))

    def reduce(self, function: Reducer) -> DStream:
        """All elements down to one, column by column; the function must be associative and commutative."""
        named = {name: reduced(function, name, self.schema) for name in self.schema.names}
        return self._with(self._per_interval().agg(**named))

    def reduce_by_key(self, function: Reducer) -> DStream:
        """The values of each key down to one. ``operator.add``, ``min``, ``max`` and ``wc.sum`` are built in."""
        named = {name: reduced(function, name, self.schema) for name in self.values}
        return self._with(self._per_interval(self.key).agg(**named))

    def group_by_key(self) -> DStream:
        """The values of each key as arrays, each in order of its own."""
        return self._with(self._per_interval(self.key).agg(**{name: collect_list(name) for name in self.values}))

    def top_k(self, k: int, by: str | Expr | None = None) -> DStream:
        """The ``k`` elements that are greatest by a column (the last), with ties."""
        window = Window(self.interval, self.interval, self.offset)
        ranked = self.stream.group_by().top(k, by or self.schema.names[-1], window=window)
        return self._with(ranked)

    def union(self, *others: DStream) -> DStream:
        """The elements of all; the columns and intervals must be the same."""
        for other in others:
            self._check(other)
        return self._with(self.stream.union(*(other.stream for other in others)))

    def join(
        self, other: DStream | Stream | Any, how: str = "inner", *, name: str = "joined", most: int = MOST
    ) -> DStream:
        """Pairs of equal keys in the same interval; with a table, or a Spark data frame, in every interval.

        A data frame is collected as the table ``name``, if it has at most ``most`` rows.
        """
        if isinstance(other, DStream):
            self._check(other)
            right = other._datasets()
        else:
            right = collected(self.stream._app, other, name, most) if is_data_frame(other) else other
        theirs = right.schema.names[0]
        if theirs == self.key:
            return self._with(self._datasets().join(right, on=self.key, how=how))
        return self._with(self._datasets().join(right, left_on=self.key, right_on=theirs, how=how))

    def cogroup(self, other: DStream) -> DStream:
        """For each key the values on both sides, as arrays; null where there are none."""
        self._check(other)
        mine, theirs = self.group_by_key(), other.group_by_key()
        both = mine.stream.join(theirs.stream, on=self.key, how="full")
        return self._with(both)

    def transform(self, function: Callable[[Stream], Stream]) -> DStream:
        """Anything that the fluent API can do with the datasets."""
        return self._with(function(self._datasets()))

    # -- over several intervals ----------------------------------------------------------------------------

    def window(self, size: Duration) -> DStream:
        """In each interval the elements of the last ``size``."""
        length = self._whole(size)
        return self._with(self._living(length))

    def reduce_by_window(self, size: Duration, function: Reducer, inverse: Reducer | None = None) -> DStream:
        """Over the last ``size``: of pairs the values of each key, otherwise all elements.

        What an interval adds is computed once. Where the function is addition, what leaves is subtracted; other
        functions are merged in a tree, which needs no ``inverse``: it is taken so that programs need not change.
        """
        kept = self.window(size)
        return kept.reduce_by_key(function) if self.values else kept.reduce(function)

    def reduce_by_key_and_window(self, function: Reducer, size: Duration, inverse: Reducer | None = None) -> DStream:
        """The values of each key over the last ``size``."""
        return self.window(size).reduce_by_key(function)

    def running_reduce(self, function: Reducer, timeout: Duration | None = None) -> DStream:
        """The values of each key since the beginning, in each interval that has some of it.

        With ``timeout`` in every interval, until the key had none for so long.
        """
        per_interval = self.reduce_by_key(function)
        names = per_interval.values
        first = partial(_first, names)
        more = partial(_more, names, function)
        state = Schema.of({name: per_interval.schema.type_of(name) for name in names})
        codes = Code.of(first, "running_reduce"), Code.of(more, f"running_reduce of {_name(function)}")
        limit = None if timeout is None else self._whole(timeout)
        result = "point" if timeout is None else "hold"
        app, plan = self.stream._app, per_interval.stream._plan
        tracked = Stream(app, Track(plan, (self.key,), *codes, state, limit, result))
        return self._with(tracked.set_duration(self.interval) if timeout is None else tracked)

    def track(self, initialize: Reducer, update: Reducer, timeout: Duration, state: object = "bigint") -> DStream:
        """A state per key (the first column): in each interval those that are there at its end.

        ``initialize(key, event)`` makes it, ``update(key, state, event)`` changes it or drops it with None; so does
        ``timeout`` without an event.
        """
        columns = dict(state) if isinstance(state, Mapping) else {SINGLE: state}
        held = self.stream.group_by(self.key).track(initialize, update, timeout, columns)
        at_start, at_end = (self._floor(time.unix_micros()) for time in (start(), end()))
        return self._with(Stream(held._app, AlterLifetime(held._plan, at_start, at_end - at_start)))

    def slice(self, since: Instant, until: Instant) -> DStream:
        """What started in ``[since, until)``, as one dataset; ``slice("21:00", "21:05")``: one of every day (UTC)."""
        daily = all(isinstance(value, str) and _CLOCK.fullmatch(value) for value in (since, until))
        first, last = (instant(f"1970-01-01T{value}" if daily else value) for value in (since, until))
        if last <= first:
            raise ConfigError("PLAN.BAD_DURATION", what="a slice", value=show_duration(last - first))
        if daily and DAY % (last - first):
            fix = "A day must be a whole number of times as long, such as '5m'; or give dates."
            raise ConfigError("CONFIG.BAD_OPTION", option="slice", value=show_duration(last - first), fix=fix)
        at = start().unix_micros()
        if daily:
            at = (at % DAY + DAY) % DAY
        inside = (at >= first) & (at < last)
        some = DStream(self.stream.filter(inside), last - first, first % (last - first))
        return some._with(some._living(last - first))

    # -- output --------------------------------------------------------------------------------------------

    def save(self, sink: Any, name: str | None = None) -> DStream:
        """Delivers the datasets to a sink."""
        self._datasets().to(sink, name)
        return self

    def into(self, name: str) -> DStream:
        """Keeps the datasets as the stream ``name``."""
        self._datasets().into(name)
        return self

    def foreach_epoch(self, function: Callable[[int, Any], None], name: str | None = None) -> DStream:
        """Calls ``function(epoch, rows)`` with what each epoch gives."""
        app: Any = self.stream._app
        app.add_callback(name, self._datasets()._plan, function)
        return self

    def explain(self, stage: str | None = None) -> str:
        """As that of a stream."""
        return self.stream.explain(stage)

    def _repr_html_(self) -> str:
        return self.stream._repr_html_()

    # -- how -----------------------------------------------------------------------------------------------

    def _with(self, stream: Stream) -> DStream:
        return replace(self, stream=stream)

    def _floor(self, time: Expr) -> Expr:
        return time.floor_to(self.interval, self.offset)

    def _living(self, length: int) -> Stream:
        at = self._floor(start().unix_micros())
        return Stream(self.stream._app, AlterLifetime(self.stream._plan, at, lit(length)))

    def _datasets(self) -> Stream:
        """Elements that live for whole intervals."""
        return self._living(self.interval) if self.stream._plan.points else self.stream

    def _per_interval(self, *keys: str) -> Any:
        return self.stream.group_by(*keys).tumbling(self.interval, self.offset)

    def _whole(self, size: Duration) -> int:
        length = micros(size)
        if length <= 0 or length % self.interval:
            fix = f"It must be a multiple of the interval, {show_duration(self.interval)}."
            raise ConfigError("CONFIG.BAD_OPTION", option="size", value=size, fix=fix)
        return length

    def _check(self, other: DStream) -> None:
        if (other.interval, other.offset) != (self.interval, self.offset):
            fix = "Both sides must have the same interval."
            raise ConfigError("CONFIG.BAD_OPTION", option="other", value=show_duration(other.interval), fix=fix)

    def __repr__(self) -> str:
        return f"<DStream ({self.schema}) every {show_duration(self.interval)}>"


def _first(names: list[str], key: Any, event: Row) -> dict[str, Any]:
    return {name: event[name] for name in names}


def _more(names: list[str], function: Reducer, key: Any, state: Any, event: Row) -> dict[str, Any]:
    before = state if isinstance(state, Mapping) else {SINGLE: state}
    return {name: combined(function, before[name], event[name]) for name in names}


def _name(function: Reducer) -> str:
    return getattr(function, "__name__", "a function")
