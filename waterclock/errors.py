"""The catalogue of errors: a stable code, one factual line, then a hint that says what to write.

WaterclockError
├── ConfigError    the program or a setting is wrong; found before anything runs
├── DataError      an input row or file breaks its declaration
├── UserError      the program's own functions failed, or gave what they must not
├── StoreError     the store cannot be opened, read or written
└── RunError       something failed while running
"""

from __future__ import annotations

from string import Formatter
from typing import NamedTuple


class Condition(NamedTuple):
    message: str
    hint: str = ""


CATALOGUE: dict[str, Condition] = {
    # time
    "TIME.BAD_DURATION": Condition(
        "{text} is not a duration.", "Write a number and a unit: '5s', '2 minutes', '1h 30m', '250ms'."
    ),
    "TIME.BAD_INSTANT": Condition(
        "{text} is not a point in time.", "Write ISO 8601, such as '2026-11-16T02:14:00Z', or microseconds as an int."
    ),
    # schema and expressions
    "SCHEMA.UNKNOWN_TYPE": Condition("Unknown type {type!r}.", "Known types: {choices}."),
    "SCHEMA.UNKNOWN_COLUMN": Condition("There is no column {column!r} in {where}.", "Columns there: {choices}.{guess}"),
    "SCHEMA.RESERVED_COLUMN": Condition(
        "The column name {column!r} is reserved.", "Names that start with an underscore are used for lifetimes and state."
    ),
    "SCHEMA.DUPLICATE_COLUMN": Condition("The column {column!r} is defined twice.", "Give each column its own name."),
    "SCHEMA.EMPTY": Condition("{where} has no columns.", "Declare at least one column."),
    "EXPR.WRONG_TYPE": Condition("{what} does not take {types}.", "{fix}"),
    "EXPR.NOT_EXPR": Condition("{what} takes an expression, not {value}.", "Write it with columns: wc.col('x') > 5."),
    "EXPR.NO_TRUTH": Condition(
        "An expression has no truth value in Python.", "Use & for AND, | for OR, ~ for NOT, with parentheses around comparisons."
    ),
    "EXPR.BAD_LITERAL": Condition("{value} cannot be used as a literal.", "Use None, bool, int, float, str, bytes, date or datetime."),
    # plan
    "PLAN.UNION_MISMATCH": Condition("The inputs of a union differ: {left} against {right}.", "Project both sides to the same names and types first."),
    "PLAN.BAD_WINDOW": Condition("A window of size {size} with hop {hop} is not possible.", "Size and hop must be greater than zero."),
    "PLAN.BAD_DURATION": Condition("{what} cannot be {value}.", "It must be greater than zero, such as '5s'."),
    "PLAN.BAD_COUNT": Condition("{what} cannot be {value}.", "It must be at least 1."),
    "PLAN.BAD_JOIN": Condition("Unknown kind of join {kind!r}.", "Choose one of: {choices}."),
    "PLAN.JOIN_KEYS": Condition("A join pairs its keys one to one, but the left has ({left}) and the right ({right}).", "Give both sides the same number of keys."),
    "PLAN.JOIN_TYPES": Condition("{left} {left_type} on the left cannot equal {right} {right_type} on the right.", "Cast one side first: .with_columns({right}=wc.col('{right}').cast('{left_type}'))."),
    "PLAN.NOT_MONOTONE": Condition("The start {expr} is not known to follow the start of the event, so time could not pass.", "Build it from wc.start().unix_micros() with + - constants, * and div by positive ones, floor_to and ceil_to."),
    "PLAN.TIME_IN_JOIN": Condition("The condition {expr} reads a lifetime, which a pair does not have.", "Put it into a column first: .with_columns(t=wc.start())."),
    "PLAN.UNBOUNDED": Condition("{what} would remember events that never end, for ever:\n{place}", "Bound them first with .clip_duration('1d') or a clip join, or allow it: wc.App(..., allow_unbounded=True)."),
    "PLAN.STUCK": Condition("Time cannot pass {what}, because it waits for the end of events that never end:\n{place}", "Bound them first with .clip_duration('1d') or a clip join, or allow it: wc.App(..., allow_unbounded=True)."),
    "PLAN.BAD_RESULT": Condition("Unknown result lifetime {result!r}.", "Choose one of: window, point_end, hold."),
    "PLAN.NO_AGGREGATE": Condition("agg() was called without an aggregate.", "Name at least one, such as n=wc.count()."),
    "PLAN.NOT_AGGREGATE": Condition("{name}={value} is not an aggregate.", "Use an aggregate such as wc.count(), wc.sum(x) or wc.max(x)."),
    "PLAN.NO_OUTPUT": Condition("The app {app!r} has no output.", "End a query with .to(sink) or .into('name')."),
    "PLAN.DUPLICATE_NAME": Condition("The name {name!r} is used twice in the app {app!r}.", "Give each stream and each output its own name."),
    "PLAN.BAD_NAME": Condition("{name!r} cannot be a name.", "Use letters, digits, '_', '-' and '.', starting with a letter; at most 100 characters."),
    "PLAN.SAME_TARGET": Condition("The outputs {name!r} and {other!r} both write to {target}.", "Give each output a place of its own."),
    "PLAN.OF_ANOTHER_APP": Condition("{name!r} belongs to the app {app!r} in this store.", "Choose another name here, or run that app; several apps may push to one stream, but one brings a source in and one computes an output."),
    "PLAN.UNNAMED_AGGREGATE": Condition("An aggregate has no name.", "Name it: agg(n=wc.count())."),
    "PLAN.NO_WINDOW": Condition("agg() needs a window.", "Choose one first: group_by(...).tumbling('5s').agg(...), or .hopping, .sliding, .session, .last, .snapshot."),
    "PLAN.CHANGED": Condition(
        "The query of output {name!r} differs from the one that wrote this store.",
        "Give the changed query another name, or run it on a new store; its saved state belongs to the old query.",
    ),
    "PLAN.STREAM_CHANGED": Condition(
        "The stream {name!r} was created with another declaration: {difference}.", "Restore the declaration, or give the stream another name."
    ),
    "PLAN.TABLE_TOO_LARGE": Condition("The data frame for the table {name!r} has more than {most} rows.", "Filter or aggregate it first, or allow more: join(frame, most=...). What is joined is kept in the store and sent to every task."),
    "PLAN.TABLE_CHANGED": Condition("The rows of the table {name!r} differ from those in this store.", "A table is valid for ever, so what was computed with it would be wrong. Give the new one another name, or use a new store."),
    "PLAN.TIME_CIRCLE": Condition("The stream {name!r} takes its time from {origin!r}, whose time follows from {name!r}.", "Take it from a stream that does not depend on this one."),
    "PLAN.NO_SIDE_STREAM": Condition("The stream {stream!r} keeps no {name!r}.", "Declare it with {option}."),
    # user code
    "USER.NOT_CODE": Condition("{what} cannot be {found}.", "{fix}"),
    "USER.NO_SOURCE": Condition("The source of {name} cannot be read.", "The source is part of the plan: write it in a file or in a notebook."),
    "USER.NOT_PLAIN": Condition(
        "{name} uses {what}, a {type}, whose content the plan cannot know.",
        "Refer to plain data (numbers, text, lists, dicts, frames), functions, classes and modules; make other objects inside the function.",
    ),
    "USER.BAD_ARGUMENTS": Condition("{name} cannot be called like this: {reason}.", "{fix}"),
    "USER.FAILED": Condition("{name} raised {error}{where}\n  {place}\n    {line}\n  for {row}", "Do it again here, without Spark: {again}"),
    "USER.BAD_RESULT": Condition("{name} gave {found}{where}\n  {place}\n    {line}\n  for {row}", "{fix}"),
    "USER.NOT_DETERMINISTIC": Condition(
        "{name} gave {first}, and then {second}{where}\n  {place}\n    {line}\n  for {row}",
        "It must follow from its arguments alone, whatever else is in the batch: no random numbers, no clock, nothing remembered.",
    ),
    "USER.STEP_DIFFERS": Condition(
        "Epoch {epoch} of {vertex!r} gave other rows when it was run twice; its user code: {names}.\n  {first}\n  {second}",
        "User code must follow from its arguments alone: no random numbers, no clock, nothing remembered.",
    ),
    "USER.BROKEN_LAW": Condition("The aggregate {name} breaks a law: {law}\n  {found}", "{fix}"),
    "CONFIG.BAD_OPTION": Condition("{option}={value!r} is not possible.", "{fix}"),
    # data at the border
    "DATA.MALFORMED": Condition("{where}: {reason}.", "Correct the row, or choose on_bad='skip' or on_bad='divert'."),
    "DATA.WRONG_TYPE": Condition("{where}: column {column!r} holds {value}, which is not {type}.", "Correct the row, or choose on_bad='skip' or on_bad='divert'."),
    "DATA.BAD_LIFETIME": Condition("{where}: the lifetime starts at {vs} and ends at {ve}.", "An event must end after it starts. Correct the row, or choose on_bad='skip' or on_bad='divert'."),
    "DATA.NO_TIME": Condition("{where}: the time column {column!r} is null.", "Every event needs a start. Correct the row, or choose on_bad='skip' or on_bad='divert'."),
    "DATA.FUTURE": Condition(
        "{where}: the time {vs} is {ahead} ahead of the clock, more than max_ahead={bound}.",
        "A row from the future would make every honest row late. Correct it, raise max_ahead, or choose ahead='quarantine'.",
    ),
    "DATA.JUMP": Condition(
        "{where}: the time {vs} is {ahead} after {time}, the latest before it, more than max_jump={bound}.",
        "One broken clock would close every window. Correct the row, raise max_jump, or choose ahead='quarantine'; after an honest gap, say so with advance().",
    ),
    "DATA.BAD_CTI": Condition("{where}: the CTI {cti} is not a time that can come.", "Correct the row, or choose on_bad='skip' or on_bad='divert'."),
    "DATA.LATE": Condition(
        "{where}: an event starts at {vs}, before the stream's time {cti}.",
        "Raise slack, or choose late='drop' or late='adjust' or late='divert'.",
    ),
    "DATA.UNKNOWN_COLUMN": Condition("{where}: there is no column {column!r} in the stream {stream!r}.", "Columns there: {choices}.{guess}"),
    "DATA.MISSING_COLUMN": Condition("{where}: the column {column!r} is missing.", "Columns there: {choices}.{guess}"),
    "DATA.UNREADABLE": Condition("Cannot read {path}: {reason}.", "Make it readable, or move it away: nothing of it was taken."),
    "DATA.FILE_CHANGED": Condition("The file {path} changed after it was read.", "Files are read in place: restore it, or declare the source with copy=True before the first run."),
    "DATA.NO_FILES": Condition("No file matches {pattern}.", "Check the path; with watch=True the source waits for files instead."),
    "DATA.FILE_ORDER": Condition(
        "The file {path} came after {last} was read, but sorts before it.",
        "Files are read once, in order of name. Rename it so that it sorts behind {last}, or move it away.",
    ),
    "DATA.OVERFLOW": Condition("The sum {what} does not fit a bigint.", "Sum a double instead: cast the argument with .cast('double')."),
    "DATA.BAD_ROWS": Condition("Cannot make rows of {value}.", "Push a list of dicts, a dict of columns, a Polars or pandas frame, or an Arrow table."),
    "DATA.AFTER_END": Condition("The stream {stream!r} has ended, and {where} came after its end.", "Nothing of it was taken. Use files(..., watch=True) for a directory that grows; for this data, a new store or stream name."),
    "DATA.STREAM_ENDED": Condition("The stream {stream!r} has ended.", "An ended stream takes no more events. To start afresh, remove the store {store}, or use another store or name."),
    # store
    "STORE.IN_USE": Condition("The store {store} is in use by {owner}.", "Stop that process first. If it is gone, its lease runs out in {seconds} s."),
    "STORE.NEWER": Condition("The store {store} was written by a newer version (format {found}, this one reads up to {known}).", "Upgrade waterclock."),
    "STORE.NOT_WRITABLE": Condition("The store {store} cannot be made: {reason}.", "Name a directory that can be written."),
    "STORE.NOT_THERE": Condition("There is no store at {store}.", "Name the directory that an app was run with (--store)."),
    "STORE.NOT_A_STORE": Condition("{store} is not a waterclock store.", "Name the directory that an app was run with (--store)."),
    "STORE.DAMAGED": Condition("{what} is damaged: {reason}.", "{fix}"),
    "STORE.FULL": Condition("No space left while writing {path}.", "Free some space and start again: everything committed is safe and nothing is repeated."),
    "STORE.NO_STREAM": Condition("There is no stream {name!r} in the store {store}.", "Streams there: {choices}.{guess}"),
    "STORE.FENCED": Condition("Another process took over this app.", "Nothing more is written by this one; look for the other with 'waterclock status'."),
    "STREAM.TRIMMED": Condition("Event {seq} of {stream!r} was removed by retention; the first one left is {first}.", "Read from there, or keep more with retention."),
    # run
    "RUN.NO_JAVA": Condition("Java 17 or newer is needed and {found}.", "Install it (Debian: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17) or set JAVA_HOME; mode='offline' needs no Java."),
    "RUN.SPARK_CONNECT": Condition("This is a Spark Connect session, which cannot run jobs on Spark's core API.", "Unset SPARK_REMOTE and spark.remote."),
    "RUN.STEP_FAILED": Condition("Epoch {epoch} of {vertex!r} failed: {reason}", "Nothing of it was committed; it runs again from its recorded input at the next start."),
    "RUN.NOT_DETERMINISTIC": Condition("Epoch {epoch} of {vertex!r} gave other rows when it was executed again.", "A query must give the same rows for the same input: look for random or clock functions."),
    "RUN.SINK_FAILED": Condition("The output {output!r} failed at epoch {epoch}: {reason}", "The rows are safe in the stream {output!r} and are delivered at the next start."),
    "RUN.SOURCE_FAILED": Condition("The source of {stream!r} failed: {reason}", "Everything taken so far is safe; it goes on from there at the next start."),
    "RUN.INTERNAL": Condition("The {worker} failed in a way that should not happen: {reason}", "Nothing committed is lost; please report this with the traceback (--traceback)."),
    "RUN.BATCH_FAILED": Condition("The batch query of {output!r} failed: {reason}", "Nothing was written; please report this with the plan (Stream.explain)."),
    "RUN.BATCH_AFTER_LIVE": Condition("The output {output!r} was already delivered to by a live or drained run.", "Give the batch run an output of its own without a sink (into(name)), another sink, or another store."),
    "RUN.NO_OUTPUT": Condition("There is no output {name!r}.", "Outputs: {choices}.{guess}"),
    "RUN.BAD_MODE": Condition("Unknown mode {mode!r}.", "Choose one of: {choices}."),
    "RUN.ALREADY": Condition("The app {app!r} is already running in this process.", "Keep the handle that run() returned."),
    "CLI.BAD_PROGRAM": Condition("{file}: {reason}.", "{fix}"),
}  # fmt: skip


class WaterclockError(Exception):
    """Carries ``code``, ``message`` and ``hint``; printing it shows all three."""

    def __init__(self, code: str, **values: object) -> None:
        condition = CATALOGUE[code]
        self.code = code
        self.values = values
        self.message = _fill(condition.message, values)
        self.hint = _fill(condition.hint, values)
        super().__init__(f"[{code}] {self.message}" + (f"\n  hint: {self.hint}" if self.hint else ""))

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.code, self.values)


class ConfigError(WaterclockError):
    """The program or a setting is wrong."""


class DataError(WaterclockError):
    """An input row or file breaks its declaration."""


class UserError(WaterclockError):
    """A function of the program failed, or gave what it must not."""

    def within(self, vertex: str, epoch: int) -> UserError:
        """The same, with the epoch that it happened in."""
        if self.values.get("where") != "":
            return self
        return UserError(self.code, **{**self.values, "where": f" in epoch {epoch} of {vertex!r}"})


class StoreError(WaterclockError):
    """The store cannot be opened, read or written."""


class RunError(WaterclockError):
    """Something failed while running."""


def did_you_mean(name: str, choices: list[str]) -> str:
    """A sentence with the nearest of ``choices``, or nothing."""
    from difflib import get_close_matches

    near = get_close_matches(name, choices, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _fill(template: str, values: dict[str, object]) -> str:
    # Checked here so that a wrong parameter fails in the test of that error, not in front of a user.
    wanted = {name for _, name, _, _ in Formatter().parse(template) if name}
    missing = wanted - values.keys()
    if missing:
        raise KeyError(f"error template wants {sorted(missing)}: {template}")
    return template.format(**values)


def _rebuild(kind: type[WaterclockError], code: str, values: dict[str, object]) -> WaterclockError:
    return kind(code, **values)
