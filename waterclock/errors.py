"""The catalogue of errors: a stable code, one factual line, then a hint that says what to write.

WaterclockError
├── ConfigError    the program or a setting is wrong; found before anything runs
│   └── SqlError   ... and where in a program in SQL
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
    "EXPR.BAD_CONSTANT": Condition("{function} cannot use {value!r}: {reason}.", "{fix}"),
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
    "PLAN.NO_OUTPUT": Condition("The app {app!r} has no output.", "End a query with .to(sink) or .into('name'); in SQL, write OUTPUT name."),
    "PLAN.DUPLICATE_NAME": Condition("The name {name!r} is used twice in the app {app!r}.", "Give each stream and each output its own name."),
    "PLAN.NO_REPLAY": Condition("{name!r} cannot replay: {why}.", "{fix}"),
    "PLAN.BAD_NAME": Condition("{name!r} cannot be a name.", "Use letters, digits, '_', '-' and '.', starting with a letter; at most 100 characters."),
    "PLAN.SAME_TARGET": Condition("The outputs {name!r} and {other!r} both write to {target}.", "Give each output a place of its own."),
    "PLAN.OF_ANOTHER_APP": Condition("{name!r} belongs to the app {app!r} in this store.", "Choose another name here, or run that app; several apps may push to one stream, but one brings a source in and one computes an output."),
    "PLAN.UNNAMED_AGGREGATE": Condition("An aggregate has no name.", "Name it: agg(n=wc.count())."),
    "PLAN.NO_WINDOW": Condition("agg() needs a window.", "Choose one first: group_by(...).tumbling('5s').agg(...), or .hopping, .sliding, .session, .last, .snapshot."),
    "PLAN.CHANGED": Condition(
        "The query of output {name!r} differs from the one that wrote this store.",
        "Give the changed query another name, or run it on a new store; its saved state belongs to the old query.",
    ),
    "PLAN.UNLIKE_INPUT": Condition(
        "The query of {vertex!r} reads {now}, and read {then} when its epochs were recorded.",
        "Use the program of then; or run the new one over the same events: waterclock replay --with.",
    ),
    "PLAN.UNLIKE_STATE": Condition(
        "The query of {vertex!r} has changed since its epochs were recorded, and cannot read what it remembered then.",
        "Use the program of then; or run the new one over the same events: waterclock replay --with.",
    ),
    "PLAN.UNLIKE": Condition(
        "The query of {vertex!r} has {now} stateful operators and had {then} when the epoch was recorded: its state does not fit.",
        "Use the program of then; or run the new one over the same events: waterclock replay --with.",
    ),
    "PLAN.STREAM_CHANGED": Condition(
        "The stream {name!r} was created with another declaration: {difference}.", "Restore the declaration, or give the stream another name."
    ),
    "PLAN.TABLE_TOO_LARGE": Condition("The data frame for the table {name!r} has more than {most} rows.", "Filter or aggregate it first, or allow more: join(frame, most=...). What is joined is kept in the store and sent to every task."),
    "PLAN.TABLE_CHANGED": Condition("The rows of the table {name!r} differ from those in this store.", "A table is valid for ever, so what was computed with it would be wrong. Give the new one another name, or use a new store."),
    "PLAN.TIME_CIRCLE": Condition("The stream {name!r} takes its time from {origin!r}, whose time follows from {name!r}.", "Take it from a stream that does not depend on this one."),
    "PLAN.CYCLE_COLUMNS": Condition("The body of the cycle {name!r} gives {body}, but the cycle is of {seeds}.", "End the body with .select(...) so that both have the same columns in the same order."),
    "PLAN.CYCLE_OPEN": Condition("The body of the cycle {name!r} does not use the stream that it is given.", "Use it: seeds.iterate(lambda loop: loop.join(...).shift('1m'), name={name!r}); without a cycle, write .union(...)."),
    "PLAN.CYCLE_INSIDE": Condition("{name!r} cannot be made inside of the cycle {cycle!r}.", "Call .to, .into and .iterate on what .iterate gives, not in its body."),
    "PLAN.CYCLE_TIME_UNKNOWN": Condition("Around the cycle {name!r} it is not known how far {what} holds time back:\n{place}", "Bound the events first with .clip_duration('1h'), or put another operator there: joins, windows and .shift are known."),
    "PLAN.CYCLE_STANDS_STILL": Condition("Time would stand still around the cycle {name!r}: {why}.\n{place}", "Add .shift('{fix}') to the end of the body, or more."),
    "PLAN.CYCLE_ENDLESS": Condition("Nothing ends the trips around the cycle {name!r}:\n{place}", "Join with a stream whose events end (.clip_duration('1d')), or say that they end: wc.App(..., allow_unbounded=True)."),
    "PLAN.CYCLE_OPEN_EVENTS": Condition("Behind a cycle, {what} would go as far as time has come, which depends on how epochs were cut:\n{place}", "Bound the events first with .clip_duration('1d')."),
    "PLAN.RULE_BROKEN": Condition("The rule {rule!r} of the optimizer failed: {reason}.", "This is a mistake in waterclock, not in the program: run it with wc.App(..., optimize=False) and please report it with the plan (Stream.explain)."),
    "PLAN.NO_SIDE_STREAM": Condition("The stream {stream!r} keeps no {name!r}.", "Declare it with {option}."),
    "PLAN.NO_ROW_FAILS": Condition("on_error is not possible for: {what}.", "It works where user code is given single rows: behind select, with_columns, filter, explode, set_duration, track, apply, and map, flat_map and filter of D-Streams. What an aggregate, a join or a ranking computes with user code, put into a column first: .with_columns(x=f('x')).on_error('skip')."),
    "PLAN.NOTHING_FAILS": Condition("on_error has nothing to do: {what} calls no user code.", "Put it right behind the operator that does: .select(y=f('x')).on_error('skip'). What is built in gives null where it has no value."),
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
    "USER.TOO_MANY": Condition(
        "{rows} rows failed in {vertex!r}, and the limit is {limit}; in epoch {epoch}, the last of them was {row}\n  {operator}\n  {error}",
        "Nothing of this epoch was done. Mend the code under another name, or raise the limit (it may change between runs) and start again; waterclock filter leaves chosen rows out.",
    ),
    "USER.BROKEN_LAW": Condition("The aggregate {name} breaks a law: {law}\n  {found}", "{fix}"),
    "CONFIG.BAD_CATALOG": Condition("The catalog {url} is not possible: {reason}.", "{fix}"),
    "CONFIG.BAD_OPTION": Condition("{option}={value!r} is not possible.", "{fix}"),
    # sinks
    "SINK.NOT_OURS": Condition("{path} is there already and holds {what}.", "Name another place for the output, or remove it."),
    "SINK.CUT_SHORT": Condition("{path} has {size} bytes, and {length} were delivered to it.", "Restore it, or name another file and output."),
    # data at the border
    "DATA.MALFORMED": Condition("{where}: {reason}.", "Correct the row, or choose on_bad='skip' or on_bad='divert' (in SQL: BAD SKIP or BAD DIVERT)."),
    "DATA.WRONG_TYPE": Condition("{where}: column {column!r} holds {value}, which is not {type}.", "Correct the row, or choose on_bad='skip' or on_bad='divert' (in SQL: BAD SKIP or BAD DIVERT)."),
    "DATA.BAD_LIFETIME": Condition("{where}: the lifetime starts at {vs} and ends at {ve}.", "An event must end after it starts. Correct the row, or choose on_bad='skip' or on_bad='divert' (in SQL: BAD SKIP or BAD DIVERT)."),
    "DATA.NO_TIME": Condition("{where}: the time column {column!r} is null.", "Every event needs a start. Correct the row, or choose on_bad='skip' or on_bad='divert' (in SQL: BAD SKIP or BAD DIVERT)."),
    "DATA.FUTURE": Condition(
        "{where}: the time {vs} is {ahead} ahead of the clock, more than max_ahead={bound}.",
        "A row from the future would make every honest row late. Correct it, raise max_ahead, or choose ahead='quarantine' (in SQL: MAX AHEAD 1d, AHEAD QUARANTINE).",
    ),
    "DATA.JUMP": Condition(
        "{where}: the time {vs} is {ahead} after {time}, the latest before it, more than max_jump={bound}.",
        "One broken clock would close every window. Correct the row, raise max_jump, or choose ahead='quarantine' (in SQL: MAX JUMP 7d, AHEAD QUARANTINE); after an honest gap, say so with advance().",
    ),
    "DATA.BAD_CTI": Condition("{where}: the CTI {cti} is not a time that can come.", "Correct the row, or choose on_bad='skip' or on_bad='divert' (in SQL: BAD SKIP or BAD DIVERT)."),
    "DATA.LATE": Condition(
        "{where}: an event starts at {vs}, before the stream's time {cti}.",
        "Raise slack, or choose late='drop' or late='adjust' or late='divert' (in SQL: WATERMARK ts - 5s, or LATE DROP, LATE ADJUST or LATE DIVERT).",
    ),
    "DATA.UNKNOWN_COLUMN": Condition("{where}: there is no column {column!r} in the stream {stream!r}.", "Columns there: {choices}.{guess}"),
    "DATA.MISSING_COLUMN": Condition("{where}: the column {column!r} is missing.", "Columns there: {choices}.{guess}"),
    "DATA.COLUMNS_DIFFER": Condition("The rows for {stream!r} do not have its columns: {difference}.", "Select and cast them first; its columns are {columns}."),
    "DATA.UNREADABLE": Condition("Cannot read {path}: {reason}.", "Make it readable, or move it away: nothing of it was taken."),
    "DATA.FILE_CHANGED": Condition("The file {path} changed after it was read.", "Files are read in place: restore it, or declare the source with copy=True (in SQL: copy => true) before the first run."),
    "DATA.NO_FILES": Condition("No file matches {pattern}.", "Check the path; with watch=True (in SQL: watch => true) the source waits for files instead."),
    "DATA.FILE_ORDER": Condition(
        "The file {path} came after {last} was read, but sorts before it.",
        "Files are read once, in order of name. Rename it so that it sorts behind {last}, or move it away.",
    ),
    "DATA.OVERFLOW": Condition("The sum {what} does not fit a bigint.", "Sum a double instead: cast the argument with .cast('double') (in SQL: CAST(x AS DOUBLE))."),
    "DATA.BAD_ROWS": Condition("Cannot make rows of {value}.", "Push a list of dicts, a dict of columns, a Polars or pandas frame, or an Arrow table."),
    "DATA.AFTER_END": Condition("The stream {stream!r} has ended, and {where} came after its end.", "Nothing of it was taken. Use files(..., watch=True) (in SQL: watch => true) for a directory that grows; for this data, a new store or stream name."),
    "DATA.STREAM_ENDED": Condition("The stream {stream!r} has ended.", "An ended stream takes no more events. To start afresh, remove the store {store}, or use another store or name."),
    # store
    "STORE.IN_USE": Condition("The store {store} is in use by {owner}.", "Stop that process first. If it is gone, its lease runs out in {seconds} s."),
    "STORE.DRIVER_THERE": Condition("There is a driver {driver!r} of this app already: {owner}.", "Give each a name of its own (driver=, --driver). If it is gone, its lease runs out in {seconds} s."),
    "STORE.NO_DRIVER": Condition("The app {app!r} has no driver {name!r}.", "Drivers: {choices}. Start one: waterclock run PROGRAM --standby --driver {name}."),
    "STORE.LOCKED": Condition("The catalog {path} is locked by another process, which does not go on.", "Look for a process that hangs or was stopped, and end it: what it has not committed is not lost."),
    "STORE.NEWER": Condition("The store {store} was written by a newer version (format {found}, this one reads up to {known}).", "Upgrade waterclock."),
    "STORE.NOT_WRITABLE": Condition("The store {store} cannot be made: {reason}.", "Name a directory that can be written."),
    "STORE.NOT_THERE": Condition("There is no store at {store}.", "Name the directory that an app was run with (--store)."),
    "STORE.NOT_A_STORE": Condition("{store} is not a waterclock store.", "Name the directory that an app was run with (--store)."),
    "STORE.DAMAGED": Condition("{what} is damaged: {reason}.", "{fix}"),
    "STORE.NO_LIBRARY": Condition("The store {store} has its catalog in PostgreSQL, and the library for it is missing: {reason}.", "Install it: pip install 'waterclock[postgres]'."),
    "STORE.NO_SERVER": Condition("The catalog at {url} cannot be reached: {reason}.", "Start the server, or correct user, host and database of the URL (--catalog; of a store that is there, the first line of its catalog.url). Passwords come from PGPASSWORD or ~/.pgpass."),
    "STORE.NO_CATALOG": Condition("The database {url} has no catalog of the store {store} (schema {schema}).", "Name the database that has it in the first line of catalog.url there, or restore that schema from a copy."),
    "STORE.OTHER_CATALOG": Condition("The store {store} has its catalog in {found}, not in {given}.", "Leave --catalog and catalog= out: a store knows its catalog. If the database has moved, write its new URL into {file}."),
    "STORE.REFUSED": Condition("The database {url} says: {reason}.", "{fix}"),
    "STORE.INTERRUPTED": Condition("The connection to the catalog at {url} was lost in the middle of a transaction.", "Nothing of it was done: do all of it again."),
    "STORE.WENT_BACK": Condition("The catalog at {url} no longer knows what it had committed.", "Look whether the server was replaced by a copy that was behind. Start again: the app goes on from what is there; rows that were pushed since must be pushed again."),
    "STORE.FULL": Condition("No space left while writing {path}.", "Free some space and start again: everything committed is safe and nothing is repeated."),
    "STORE.NO_STREAM": Condition("There is no stream {name!r} in the store {store}.", "Streams there: {choices}.{guess}"),
    "STORE.NO_OUTPUT": Condition("There is no output {name!r} in the store {store}.", "Outputs there: {choices}.{guess}"),
    "STORE.NO_APP": Condition("There is no app {name!r} in the store {store}.", "Apps there: {choices}.{guess}"),
    "STORE.NO_SNAPSHOT": Condition("There is no snapshot {name!r} in the store {store}.", "Snapshots there: {choices}.{guess}"),
    "STORE.SNAPSHOT_THERE": Condition("There is a snapshot {name!r} already, of the app {app!r}.", "Choose another name, or remove that one: waterclock snapshot remove {name}."),
    "STORE.NO_PIN": Condition("There is no pin {name!r} in the store {store}.", "Pins there: {choices}.{guess}"),
    "STORE.PIN_THERE": Condition("There is a pin {name!r} already, on the stream {stream!r}.", "Choose another name (--name), or remove that one: waterclock pin remove {name}."),
    "STORE.FENCED": Condition("Another process took over this app.", "Nothing more is written by this one; look for the other with 'waterclock status'."),
    "STORE.NEVER_WAS": Condition("There is no epoch {epoch} of {vertex!r} yet: {have}.", "Choose one of these, or find that of a row: --row SEQ."),
    "STORE.NOT_IN_BUNDLE": Condition("Epoch {epoch} of {vertex!r} is not in the bundle: {have}.", "Pack it where the store is: waterclock bundle FILE --vertex {vertex} --epochs A..B."),
    "STORE.NO_EPOCH": Condition("Epoch {epoch} of {vertex!r} is not recorded any more: {have}.", "An app keeps its last epochs, wc.App(..., history=1000), and all that follow a global snapshot: waterclock snapshot create NAME."),
    "STORE.NOT_A_BUNDLE": Condition("{path} is a file, but not a bundle: {reason}.", "Give the directory of a store, or a file that 'waterclock bundle' wrote, copied whole."),
    "STORE.NEWER_BUNDLE": Condition("The bundle {path} was written by waterclock {version}, this is {ours}.", "Open it with that version or a newer one: pip install 'waterclock>={version}'."),
    "STORE.NOT_EMPTY": Condition("There is a store in {store} already.", "A past segment is run in a new store: name another directory."),
    "STORE.NOT_EXECUTED": Condition("Epoch {epoch} has not been executed here yet.", "Call run() first, or type 'run'."),
    "STORE.NOTHING_RECORDED": Condition("The app {app!r} has computed nothing in {store}.", "Run it there first; --store names another store, --app another app.{others}"),
    "STORE.NO_PARTITION": Condition("Epoch {epoch} of {vertex!r} has no partition {partition}: it has {tasks} of them.", "Choose one from 0 to {last}, or leave it out to see all."),
    "STORE.NO_ROW": Condition("No epoch that is still recorded has given row {row} of {vertex!r}: {have}.", "waterclock tail {vertex} shows the numbers of its newest rows."),
    "STORE.NO_VERTEX": Condition("There is no output {name!r} of the app {app!r} in {store}.", "Outputs there: {choices}.{guess}{others}"),
    "STREAM.TRIMMED": Condition("Event {seq} of {stream!r} was removed by retention; the first one left is {first}.", "Read from there, or keep more with retention (in SQL: RETAIN 30d)."),
    "STREAM.SHORTER": Condition("{stream!r} ends at event {durable}, and this query has read up to {seq}.", "It is not the stream that the query began with: name that store, or begin with a new checkpoint."),
    # asking a store
    "ASOF.FUTURE": Condition("{time} has not come yet: it is {now}.", "Ask for a time that has passed, or leave it out for what is there now."),
    "ASOF.BEFORE": Condition("The store {store} had no events at {time}: the first that it knows of came at {first}.", "Ask for a later time."),
    "ASOF.BETWEEN": Condition("What {stream!r} had at {time} is not known to the microsecond: what came around then was merged.", "Whole seconds can be asked: {before} or {after}."),
    "ASOF.NO_EPOCH": Condition("{what}.", "{known} An app keeps its last epochs (history=1000) and what follows a global snapshot: waterclock snapshot create NAME, or wc.App(..., snapshots=wc.Snapshots(every='1m', keep=60))."),
    "ASOF.NOT_TOLD": Condition("{label} does not tell what {stream!r} had then: {why}.", "{fix}"),
    "ASOF.TRIMMED": Condition("Of what {stream!r} had at {label}, events were removed by retention; the first one left is {first}.", "{fix}Keep more: retention= (in SQL: RETAIN 30d), waterclock pin add {stream}, or wc.Snapshots(keep=...)."),
    "QUERY.NOT_A_QUERY": Condition("A question is a query, and this is {what}.", "Write SELECT ... FROM ...; queries with names may stand before it: a = SELECT ...; SELECT ... FROM a. What runs on and on goes into a program: waterclock run."),
    "QUERY.SCANS_ALL": Condition("This would read {rows:,} events of {stream!r}, all there are.", "Ask for a time: WHERE START() >= TIMESTAMP '{since}'; or say that you want them all: --all, scan_all=True."),
    "QUERY.FILES_GONE": Condition("Files were removed again and again while the question was answered.", "Ask again, or for less: WHERE START() >= TIMESTAMP '...'. A pin keeps events: waterclock pin add."),
    "QUERY.NO_STATE": Condition("The state of {vertex!r} is being computed again, after a loss.", "Ask again when it runs: waterclock status."),
    # run
    "RUN.NO_JAVA": Condition("Java 17 or newer is needed and {found}.", "Install it (Debian: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17) or set JAVA_HOME; mode='offline' (--mode offline) needs no Java."),
    "RUN.SPARK_CONNECT": Condition("This is a Spark Connect session, which cannot run jobs on Spark's core API.", "Unset SPARK_REMOTE and spark.remote."),
    "RUN.SPARK_FAILED": Condition("Spark does not start: {reason}", "Nothing was computed. Correct master and the settings (spark=...); 'waterclock doctor --spark' tries Spark alone."),
    "RUN.SPARK_LOST": Condition("Spark is gone: {reason}.", "What was committed is safe, and nothing is computed twice: start the app again. If the machine ran out of memory, give Spark less: spark={{'spark.driver.memory': '1g'}}."),
    "RUN.WORKERS": Condition("Spark's Python workers, {python}, cannot run waterclock: {reason}", "Set PYSPARK_PYTHON (or spark.pyspark.python) to {ours} before the Spark session is made; on a cluster, to a Python with waterclock on every machine."),
    "RUN.STEP_FAILED": Condition("Epoch {epoch} of {vertex!r} failed: {reason}", "Nothing of it was committed; it runs again from its recorded input at the next start."),
    "RUN.NOT_DETERMINISTIC": Condition("Epoch {epoch} of {vertex!r} gave other rows when it was executed again.", "A query must give the same rows for the same input: look for random or clock functions."),
    "RUN.SINK_FAILED": Condition("The output {output!r} failed at epoch {epoch}: {reason}", "The rows are safe in the stream {output!r} and are delivered at the next start."),
    "RUN.SOURCE_FAILED": Condition("The source of {stream!r} failed: {reason}", "Everything taken so far is safe; it goes on from there at the next start."),
    "RUN.INTERNAL": Condition("The {worker} failed in a way that should not happen: {reason}", "Nothing committed is lost; please report this with the traceback (--traceback)."),
    "RUN.CYCLE_GOES_ON": Condition("The cycle {output!r} still changes after {rounds:,} trips.", "Its trips may never end; if they do, run it in mode='drain' or 'offline'."),
    "RUN.BATCH_FAILED": Condition("The batch query of {output!r} failed: {reason}", "Nothing was written; please report this with the plan (App.explain)."),
    "RUN.BATCH_AFTER_LIVE": Condition("The output {output!r} was already delivered to by a live or drained run.", "Give the batch run an output of its own without a sink (into(name); in SQL: OUTPUT name), another sink, or another store."),
    "RUN.NO_OUTPUT": Condition("There is no output {name!r}.", "Outputs: {choices}.{guess}"),
    "RUN.BAD_MODE": Condition("Unknown mode {mode!r}.", "Choose one of: {choices}."),
    "RUN.STILL_MOVING": Condition("{output!r} does not run in the driver {driver!r} alone after {seconds} s.", "Both run it until that one keeps up, and no row is lost: look at it with 'waterclock drivers' and 'waterclock status'."),
    "RUN.NOT_MOVED": Condition("{output!r} was not moved to the driver {driver!r}: it runs in {now}.", "That driver has ended, or somebody moved it elsewhere meanwhile: look with 'waterclock drivers'."),
    "RUN.ENDED": Condition("The run of {app!r} has ended.", "Take a snapshot while it runs, or begin one that the next run completes: waterclock snapshot create."),
    "RUN.SNAPSHOTS_PENDING": Condition("{number} snapshots of {app!r} are on their way already.", "Wait until one is complete, or remove one: 'waterclock snapshot list' shows them."),
    "RUN.SNAPSHOT_PENDING": Condition("Snapshot {label} of {app!r} is not complete {when}.", "It is still on its way, and is completed while the app runs: look with 'waterclock snapshot list'."),
    "RUN.SNAPSHOT_ABANDONED": Condition("Snapshot {label} of {app!r} was abandoned.", "It took longer than the app allows (wc.Snapshots(timeout=...)), the app began to read another stream, or it was removed. Nothing is lost: take another."),
    "RUN.ALREADY": Condition("The app {app!r} is already running in this process.", "Keep the handle that run() returned."),
    # results that are compared or drawn
    "RESULT.UNREADABLE": Condition("{what} cannot be read as a result: {reason}.", "{fix}"),
    "RESULT.UNLIKE": Condition("{a} and {b} have different columns: {unlike}.", "{fix}"),
    "RESULT.KEYS_OVERLAP": Condition("Too many rows with equal {keys} are alive at the same time: pairing them takes {pieces:,} pieces.", "Name more keys, which tell rows apart (--on), compare a shorter time (--from, --to), or compare without keys."),
    # programs in SQL; the place in the text follows the message
    "SQL.SYNTAX": Condition("Expected {expected}, found {found}.", "{fix}"),
    "SQL.UNCLOSED": Condition("This {what} is never closed.", "Close it with {closing}"),
    "SQL.DOUBLE_QUOTES": Condition("\"{text}\" in double quotes is a text in Spark SQL and a name in standard SQL.", "Write '{text}' for a text, `{text}` for a name."),
    "SQL.RESERVED": Condition("{word} is a keyword, and {what} is expected here.", "As a name, write it in backticks: `{word}`."),
    "SQL.TOO_DEEP": Condition("This is nested too deeply.", "Give a part of it a name of its own: name = SELECT ..."),
    "SQL.BAD_NUMBER": Condition("{text} is not a number that fits.", "Write digits, such as 42, 1.5 or 1e6, below 2^63."),
    "SQL.BAD_UNIT": Condition("{unit!r} directly behind a number is not a unit of time.", "Units: {units}. A name cannot start with a digit unless in backticks."),
    "SQL.BAD_DURATION": Condition("{text} is not a duration.", "Write 5s, 1h 30m, 2 MINUTES or INTERVAL '5' SECOND; units: us, ms, s, m, h, d, w."),
    "SQL.BAD_MOMENT": Condition("{text!r} is not a {kind}.", "Write TIMESTAMP '2026-11-16T02:14:00Z' or DATE '2026-11-16'."),
    "SQL.CALENDAR": Condition("A {unit} has no fixed length.", "Write days: INTERVAL '30' DAY, or 30d."),
    "SQL.CHAINED": Condition("A comparison cannot follow {symbol!r} without a logical operator.", "Join comparisons with AND: a < b AND b < c."),
    "SQL.STAR": Condition("* cannot stand here.", "Use it alone in SELECT *, as relation.*, or in COUNT(*)."),
    "SQL.UNSUPPORTED": Condition("{what} is not part of this language.", "{fix}"),
    "SQL.SUBQUERY": Condition("A query cannot stand where a value is expected.", "Name it and join it: INNER JOIN for its values, LEFT SEMI JOIN for IN and EXISTS, LEFT ANTI SEMI JOIN for NOT IN and NOT EXISTS."),
    "SQL.OVER": Condition("{function}(...) OVER (...) is not part of this language.", "Aggregate over a window with GROUP BY key WITH SLIDING(10s), rank with ORDER BY x DESC LIMIT 3 BY key; to have rows and aggregate side by side, join the two."),
    "SQL.CLAUSE_ORDER": Condition("{clause} stands behind {other}.", "The order is: SELECT ... FROM ... WHERE ... GROUP BY ... WITH window ... HAVING ... ORDER BY ... LIMIT ..."),
    "SQL.CLAUSE_TWICE": Condition("There is a second {clause}.", "Write it once; join conditions with AND, list columns with commas."),
    "SQL.ORDER_WITHOUT_LIMIT": Condition("ORDER BY without LIMIT: a stream has no order of its own.", "Add LIMIT 10 to keep the first ones at every moment or per window, or leave ORDER BY out."),
    "SQL.LIMIT_WITHOUT_ORDER": Condition("LIMIT without ORDER BY would keep arbitrary rows.", "Say which ones: ORDER BY x DESC LIMIT 10."),
    "SQL.UNKNOWN_WINDOW": Condition("There is no window {window}.", "Windows: TUMBLING(5s), HOPPING(10s, 5s), SLIDING(10s), SNAPSHOT, SESSION(30s), COUNT(10).{guess}"),
    "SQL.NO_CONDITION": Condition("A join needs a condition.", "Write ON a.k == b.k or USING (k); CROSS JOIN pairs everything that overlaps in time."),
    "SQL.WITHIN": Condition("WITHIN belongs to ASOF JOIN.", "Other joins pair events whose lifetimes overlap: change those with SET_DURATION(stream, 5m) or EXTEND(stream, 5m)."),
    "SQL.UNKNOWN_NAME": Condition("There is no stream, table or query {name}.", "Known here: {choices}.{guess}"),
    "SQL.LATER_NAME": Condition("{name} is defined below.", "A statement can use only what stands before it: move the definition of {name} up."),
    "SQL.DUPLICATE_NAME": Condition("The name {name} is taken.", "{fix}"),
    "SQL.UNKNOWN_COLUMN": Condition("There is no column {column} in {where}.", "Columns there: {choices}.{guess}"),
    "SQL.UNKNOWN_RELATION": Condition("{relation} is not in FROM.", "Relations there: {choices}.{guess}"),
    "SQL.ONE_SIDED": Condition("{relation} is the right side of a {kind} JOIN, whose result has only the columns of the left side.", "Use INNER JOIN to have its columns too."),
    "SQL.AMBIGUOUS": Condition("{column} could be {choices}.", "Say which one, with the relation before it."),
    "SQL.DUPLICATE_COLUMN": Condition("The column {column} would be there twice.", "Give one of them another name with AS, or list the columns instead of *."),
    "SQL.DUPLICATE_RELATION": Condition("{relation} is in FROM twice.", "Give each its own name: FROM s AS a JOIN s AS b."),
    "SQL.NO_COLUMN_NAME": Condition("This column has no name.", "Add AS name."),
    "SQL.BAD_COLUMN_NAME": Condition("A column cannot be called {column}.", "Names that start with an underscore are used for lifetimes and state."),
    "SQL.WRONG_TYPE": Condition("{what} does not take {types}.", "It takes {takes}.{fix}"),
    "SQL.UNKNOWN_TYPE": Condition("There is no type {type}.", "Types: {choices}.{guess}"),
    "SQL.NUMBER_AS_TIME": Condition("CAST between a number and a timestamp does not say the unit of time.", "Say it: {fix}"),
    "SQL.UNKNOWN_FUNCTION": Condition("There is no function {function}.", "{fix}"),
    "SQL.WRONG_ARGUMENTS": Condition("{function} does not take {given}.", "Write {usage}."),
    "SQL.NOT_CONDITION": Condition("{clause} takes a condition, and this is {type}.", "Compare it with something, such as x > 5."),
    "SQL.AGGREGATE_IN_WHERE": Condition("{function} is an aggregate, and {clause} looks at single events.", "{fix}"),
    "SQL.NESTED_AGGREGATE": Condition("An aggregate cannot be inside another.", "Aggregate in a query of its own first, then aggregate its result."),
    "SQL.NOT_GROUPED": Condition("{column} is neither in GROUP BY nor in an aggregate.", "Add it to GROUP BY, or say which of its values is meant: LAST({column}), MAX({column})."),
    "SQL.ALIAS_IN_WHERE": Condition("{column} is defined in this SELECT, and {clause} comes before it.", "Repeat its expression here, or filter in a query around this one."),
    "SQL.NOTHING_FAILS": Condition("ON ERROR has nothing to do: WHERE and the SELECT list of this query call no user code.", "Put it behind the query that does. What is built in gives null where it has no value."),
    "SQL.NO_WINDOW": Condition("{what} needs a window: over which time?", "Add WITH TUMBLING(5s), HOPPING(10s, 5s), SLIDING(10s), SESSION(30s) or COUNT(10) behind GROUP BY, or WITH SNAPSHOT for the events of every moment."),
    "SQL.WINDOW_WITHOUT_AGGREGATE": Condition("WITH {window} stands in a query that aggregates nothing.", "Add an aggregate such as COUNT(*), or ORDER BY x DESC LIMIT 3; to change lifetimes, use a function in FROM: CHOP(s, 5s), QUANTIZE(s, 5s)."),
    "SQL.WINDOW_ARGUMENTS": Condition("{window} does not take {given}.", "Write {usage}."),
    "SQL.WINDOW_OPTION": Condition("{option} is not possible with {window}.", "{fix}"),
    "SQL.WINDOW_OF_INTERVALS": Condition("{function} puts a row into the windows of its time column alone, but the events of {relation} last longer than an instant, and here an event is in every window that it overlaps.", "If that is meant, write GROUP BY ... WITH {window}; to look at starts only, {function}(SET_DURATION({relation}, 1us), ...)."),
    "SQL.WINDOW_TIME": Condition("{column} is not the time of {relation}.", "{fix}"),
    "SQL.WINDOW_NOT_GROUPED": Condition("A query over {function}(...) that is not grouped by its window would mix windows.", "Add window_start and window_end to GROUP BY, or write GROUP BY ... WITH {window}."),
    "SQL.WINDOW_VALUE": Condition("{value} is not known here.", "{fix}"),
    "SQL.LATENESS": Condition("The watermark of {stream} waits {slack}, less than the allowed lateness {lateness}, so no result could ever be revised.", "Let it wait as long: WATERMARK {time} - {lateness}."),
    "SQL.NOT_CONSTANT": Condition("{what} must be a constant.", "Write it out, or use a :parameter."),
    "SQL.BAD_VALUE": Condition("{what} cannot be {value}.", "{fix}"),
    "SQL.NO_PARAMETER": Condition("The parameter :{name} has no value.", "Give it one: params={{'{name}': ...}} from Python, --param {name}=... on the command line.{guess}"),
    "SQL.UNUSED_PARAMETER": Condition("The program has no parameter :{name}.", "Parameters there: {choices}.{guess}"),
    "SQL.NO_LIFETIME": Condition("The stream {stream} does not say when its events are valid.", "Add POINT AT {time}, LIFETIME (start, end) or LIFETIME ({time}, {time} + 5s)."),
    "SQL.NO_WATERMARK": Condition("The stream {stream} does not say how its time advances, so no window over it would ever close.", "Add WATERMARK {time} - 2s (waits two seconds for late events), or WATERMARK NONE if the program advances it."),
    "SQL.BAD_WATERMARK": Condition("{what}", "Write WATERMARK {time} - 2s: the column that events start at, minus how long to wait for late ones."),
    "SQL.BAD_LIFETIME": Condition("{what}", "Write LIFETIME (start, end) with two columns, or LIFETIME (ts, ts + 2 MINUTES)."),
    "SQL.NOT_MONOTONE": Condition("This start is not known to follow the start of the event, so time could not pass.", "Build it from START(), plus or minus durations."),
    "SQL.UNKNOWN_CONNECTOR": Condition("There is no {kind} {name}.", "There are: {choices}.{guess}"),
    "SQL.UNKNOWN_OPTION": Condition("There is no option {option}.", "Options: {choices}.{guess}"),
    "SQL.UNBOUNDED": Condition("{what} would {problem}.", "Bound the events first: CLIP_DURATION(stream, 1d) or a CLIP JOIN; or allow it: SET allow_unbounded = true."),
    "SQL.UNION_MISMATCH": Condition("{what}", "UNION ALL pairs columns by position: select the same number of columns, of types that fit."),
    "SQL.REFUSED": Condition("{message} ({inner})", "{fix}"),
    "SQL.EMPTY": Condition("There is no statement.", "Write at least one: name = SELECT ... FROM ...; OUTPUT name TO jsonl('out.jsonl');"),
    "SQL.NOTHING_MADE": Condition("These statements make no stream.", "End with a query, or set options on the app itself: wc.App(..., epoch_rows=5)."),
    "SQL.NO_OUTPUT": Condition("The program has no OUTPUT.", "Add one: OUTPUT {name} TO jsonl('out.jsonl');"),
    "SQL.UNNAMED": Condition("This query has no name, so nothing could use it.", "Name it: name = SELECT ...; then OUTPUT name TO console();"),
    "SQL.UNREADABLE": Condition("Cannot read {file}: {reason}.", "Name a file with a program in SQL, in UTF-8."),
    # tests of programs
    "TEST.BAD_TABLE": Condition("{place}, line {line}: {what}.\n{shown}", "{fix}"),
    "TEST.BAD_TIME": Condition("{text} is not a time.", "Write 10:00, 10:00:05.25, 2026-01-05T10:00:05Z, or microseconds since 1970."),
    "TEST.BACKWARDS": Condition("{what} is at {now} already, and cannot go back to {to}.", "Time only goes on: name a later time, or feed the earlier rows first."),
    "TEST.WHEN": Condition("{what}() takes one time.", "Write {usage}."),
    "TEST.NO_TIME": Condition("{what}() does not know from when: nothing has told a time yet.", "Feed something first, or name a time: advance('10:05')."),
    "TEST.NO_STREAM": Condition("The program has no stream {name!r}.", "Streams: {choices}.{guess}"),
    "TEST.ENDED": Condition("The stream {stream!r} has ended in this test.", "Feed it before end()."),
    "TEST.NO_PLACE": Condition("A test cannot crash at {place!r}.", "Places: {choices}. Without a place it crashes at once.{guess}"),
    "TEST.NOT_REACHED": Condition("The crash at {place!r} did not happen: the step behind it ({step}) does not come by there.", "Put it before a step that does: ingest.* is where rows are fed, the others are where something is computed."),
    "TEST.NOT_LOADED": Condition("There is no program to test yet.", "Load one: ts.load('orders.sql'), or TestStream(app)."),
    "TEST.NO_PROGRAM": Condition("There is no program {file}: looked for {looked}.", "Name it from the folder of the test, such as '../orders.sql'."),
    "TEST.LOADED_TWICE": Condition("This test has a program already.", "Test another program with another TestStream."),
    "TEST.NO_REFERENCE": Condition("{output!r} gives results before they are final (early=): which ones depends on how epochs are cut.", "Compare it with expect()."),
    "TEST.BAD_FILE": Condition("{file}, line {line}: {what}.", "{fix}"),
    "TEST.NO_FILES": Condition("There is no test in {paths}.", "Tests are files that end in .wctest; 'waterclock init hello' makes a project with one."),
    "CLI.BAD_PROGRAM": Condition("{file}: {reason}.", "{fix}"),
    "CLI.THERE_ALREADY": Condition("{file} is there already.", "Choose a directory without it."),
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

    def point_to(self, place: str) -> None:
        """Also says where in the user's files it arose."""
        self.message += f"\n  --> {place}"
        self.args = (f"[{self.code}] {self.message}" + (f"\n  hint: {self.hint}" if self.hint else ""),)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.code, self.values)


class ConfigError(WaterclockError):
    """The program or a setting is wrong."""


class SqlError(ConfigError):
    """A program in SQL is wrong. ``place`` is the file, the line, and the place in it underlined."""

    def __init__(self, code: str, *, place: str = "", offset: int = 0, **values: object) -> None:
        super().__init__(code, place=place, offset=offset, **values)
        self.place = place
        self.others: tuple[SqlError, ...] = ()
        """What else is wrong in the same statement."""
        self.offset = offset
        self.message += f"\n{place}" if place else ""
        self.args = (f"[{code}] {self.message}" + (f"\n  hint: {self.hint}" if self.hint else ""),)


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
