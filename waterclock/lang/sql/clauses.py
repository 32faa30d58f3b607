"""Everything that a program can say: the syntax of each clause, a sentence on it, and an example that runs.

The names are those of the parser's own tables, and the page of clauses is written from here: what the parser knows
and this table lacks fails a test. Examples are run over the streams of that page; they end in a query, or in OUTPUT.
"""

from __future__ import annotations

from typing import NamedTuple

from waterclock.lang.sql.bind.lifetimes import FUNCTIONS
from waterclock.lang.sql.bind.windows import USAGE


class Clause(NamedTuple):
    syntax: str
    about: str
    example: str


class Group(NamedTuple):
    about: str
    clauses: dict[str, Clause]


def _visits(clauses: str, query: str = "SELECT who, t FROM visits", file: str = "visits") -> str:
    """An example of a clause of CREATE STREAM."""
    columns = "who STRING, t BIGINT, until BIGINT"
    return f"CREATE STREAM visits ({columns})\n  {clauses}\n  FROM files('{file}.jsonl');\n\n{query}"


STATEMENTS = {
    "CREATE STREAM": Clause(
        "CREATE STREAM name (column type, ...) clauses",
        "A stream of events. It needs a time: `POINT AT` or `LIFETIME`, and `WATERMARK`.",
        _visits("LIFETIME (t, until)\n  WATERMARK t - 30us"),
    ),
    "CREATE TABLE": Clause(
        "CREATE TABLE name (column type, ...) AS VALUES (value, ...), ... | FROM source",
        "Rows that are valid for ever, to join with.",
        "CREATE TABLE pages (page STRING, kind STRING) AS VALUES ('home', 'free'), ('cart', 'paid');\n\n"
        "SELECT who, kind\nFROM clicks\nJOIN pages ON clicks.page = pages.page",
    ),
    "CREATE VIEW": Clause(
        "CREATE VIEW name AS query",
        "A query with a name. Nothing is computed until something reads it.",
        "CREATE VIEW dear AS\nSELECT who, cost\nFROM calls\nWHERE cost > 2;\n\nSELECT *\nFROM dear",
    ),
    "name = SELECT ...": Clause(
        "name = query",
        "The same.",
        "dear =\nSELECT who, cost\nFROM calls\nWHERE cost > 2;\n\nSELECT *\nFROM dear",
    ),
    "OUTPUT": Clause(
        "OUTPUT query [AS name] [TO sink] [RECOVERY strategy]",
        "Runs a query: its results are kept as the stream `name` and delivered to the sink. "
        "How lost state is had again: `RECOVERY checkpoint('10s')`, `replay()` or `replicate(2)`.",
        "homes =\nSELECT who\nFROM clicks\nWHERE page = 'home';\n\nOUTPUT homes AS at_home TO jsonl('at_home.jsonl');",
    ),
    "SET": Clause(
        "SET option = value",
        "An option of the app.",
        "SET epoch_rows = 1000;\n\neveryone =\nSELECT DISTINCT who\nFROM clicks;\n\nOUTPUT everyone;",
    ),
}
STREAM = {
    "LIFETIME": Clause(
        "LIFETIME (start, end) | LIFETIME (start, start + duration)",
        "An event is valid from one column to the other, or for so long. A null end is open.",
        _visits("LIFETIME (t, t + 5us)\n  WATERMARK t - 30us"),
    ),
    "POINT AT": Clause(
        "POINT AT column",
        "An event is an instant. The default, at the column of the watermark.",
        _visits("POINT AT t\n  WATERMARK t - 30us"),
    ),
    "WATERMARK": Clause(
        "WATERMARK column [- duration] | FOR column AS column - duration | FROM stream [- duration] | IN column | NONE",
        "How the stream's time moves: behind the greatest start seen, by another stream's time, by CTIs in a column, "
        "or by `advance` and `end` alone. `FOR ... AS` may also stand among the columns.",
        _visits("WATERMARK FOR t AS t - INTERVAL '30' MICROSECOND"),
    ),
    "IDLE AFTER": Clause(
        "IDLE AFTER duration",
        "Without input for so long, time goes on by the clock.",
        _visits("WATERMARK t - 30us\n  IDLE AFTER 30s"),
    ),
    "LATE": Clause(
        "LATE FAIL | DROP | ADJUST | DIVERT | TO name",
        "What happens to events behind the stream's time: the run fails (the default), they are left out, they start "
        "now, they go to the stream `stream.late`, or to one with this name.",
        _visits("WATERMARK t - 10us\n  LATE TO too_late", "SELECT who, t FROM too_late", "part-*"),
    ),
    "BAD": Clause(
        "BAD FAIL | SKIP | DIVERT",
        "What happens to rows that are no events, such as one without a time.",
        _visits("WATERMARK t - 30us\n  BAD SKIP", file="broken"),
    ),
    "AHEAD": Clause(
        "AHEAD FAIL | QUARANTINE",
        "What happens to rows that are not believed, by `MAX AHEAD` and `MAX JUMP`.",
        _visits("WATERMARK t - 30us\n  AHEAD QUARANTINE", file="future"),
    ),
    "MAX AHEAD": Clause(
        "MAX AHEAD duration | NONE",
        "Rows further ahead of the clock are not believed; an hour by default.",
        _visits("WATERMARK t - 30us\n  MAX AHEAD 1d\n  AHEAD QUARANTINE", file="future"),
    ),
    "MAX JUMP": Clause(
        "MAX JUMP duration | NONE",
        "Rows that would move time by more are not believed.",
        _visits("WATERMARK t - 30us\n  MAX JUMP 10us\n  AHEAD QUARANTINE"),
    ),
    "RETAIN": Clause(
        "RETAIN duration",
        "Events are kept for so long behind the stream's time; without it, for ever.",
        _visits("WATERMARK t - 30us\n  RETAIN 7d"),
    ),
    "FROM": Clause(
        "FROM source(...) | :parameter",
        "Where rows come from; without it, `push` from Python.",
        _visits("WATERMARK t - 30us"),
    ),
}
QUERY = {
    "SELECT": Clause(
        "SELECT [ALL | DISTINCT] expression [AS name], ... | * [EXCEPT (column, ...)] | relation.*",
        "The columns. `DISTINCT` keeps each row once at every instant.",
        "SELECT * EXCEPT (city, a, b)\nFROM calls",
    ),
    "EXPLODE": Clause(
        "SELECT EXPLODE(array) AS name",
        "A row of every element, in the SELECT list.",
        "SELECT who, EXPLODE(split(page, 'o')) AS part\nFROM clicks\nWHERE who = 'bob'",
    ),
    "FROM": Clause(
        "FROM stream | table | query | (query) | function(relation, ...) [[AS] name]",
        "What is read.",
        "SELECT c.who\nFROM (SELECT who, page FROM clicks) AS c\nWHERE c.page = 'cart'",
    ),
    "WHERE": Clause(
        "WHERE condition",
        "The events for which it holds.",
        "SELECT who, cost\nFROM calls\nWHERE cost BETWEEN 3 AND 5 AND city LIKE 'R%'",
    ),
    "GROUP BY": Clause(
        "GROUP BY key, ...",
        "A result for each value of the keys: expressions, names or places of the SELECT list.",
        "SELECT who, COUNT(*) AS n\nFROM clicks\nGROUP BY who\nWITH TUMBLING(10us)",
    ),
    "WITH": Clause(
        "WITH window [OFFSET duration] [RESULT AT WINDOW | END | HOLD] [ALLOWED LATENESS duration]",
        "Over which time is aggregated or ranked.",
        "SELECT SUM(cost) AS total\nFROM calls\nWITH TUMBLING(10us) RESULT AT END",
    ),
    "HAVING": Clause(
        "HAVING condition",
        "The results for which it holds.",
        "SELECT who, COUNT(*) AS n\nFROM clicks\nGROUP BY who\nWITH TUMBLING(10us)\nHAVING COUNT(*) > 1",
    ),
    "ORDER BY": Clause(
        "ORDER BY expression [ASC | DESC]",
        "With `LIMIT`: by what is ranked. A null has no rank, so its row is left out; `COALESCE(x, 0)` keeps it.",
        "SELECT who, page\nFROM clicks\nWITH TUMBLING(10us)\nORDER BY page DESC\nLIMIT 1",
    ),
    "LIMIT": Clause(
        "LIMIT k [WITH TIES] [BY key, ...]",
        "The first ones at every moment, or of each window; per key with `BY`. Ties always stay.",
        "SELECT who, city, cost\nFROM calls\nWITH TUMBLING(20us)\nORDER BY cost DESC\nLIMIT 1 BY who",
    ),
    "EMIT": Clause(
        "EMIT ON WINDOW CLOSE | FINAL",
        "What always happens: results are final.",
        "SELECT COUNT(*) AS n\nFROM clicks\nWITH TUMBLING(10us)\nEMIT ON WINDOW CLOSE",
    ),
    "ON ERROR": Clause(
        "ON ERROR FAIL | SKIP | DEAD LETTER [LIMIT count]",
        "What happens to events for which a Python function of `WHERE` or of the SELECT list fails: the run fails (the "
        "default), they are left out, or they also go to the stream `output.dead`. More than `LIMIT` of them since the "
        "beginning fail the run. Not together with aggregates.",
        "SELECT who, halved(cost) AS half\nFROM calls\nON ERROR SKIP LIMIT 100",
    ),
    "WITH name AS": Clause(
        "WITH name AS (query), ... query",
        "Queries for this one alone.",
        "WITH homes AS (SELECT who FROM clicks WHERE page = 'home')\nSELECT *\nFROM homes",
    ),
    "UNION": Clause(
        "query UNION [ALL | DISTINCT] query",
        "The rows of both, columns paired by position. Without `ALL`, each row once at every instant.",
        "SELECT who FROM clicks\nUNION ALL\nSELECT who FROM calls WHERE cost > 4",
    ),
}
_OF_WINDOWS = {
    "TUMBLING": (
        "Windows one after another.",
        "SELECT COUNT(*) AS n\nFROM clicks\nWITH TUMBLING(5us)",
    ),
    "HOPPING": (
        "A window of `size` every `hop`. A result is valid from the end of its window until the next.",
        "SELECT COUNT(*) AS n\nFROM clicks\nWITH HOPPING(10us, 5us)",
    ),
    "SLIDING": (
        "Every moment, over the events of the last `size`: points live that long, others that much longer than before.",
        "SELECT COUNT(*) AS n\nFROM clicks\nWITH SLIDING(5us)",
    ),
    "SNAPSHOT": (
        "Every stretch of time in which the same events are valid.",
        "SELECT COUNT(*) AS n, SUM(cost) AS cost\nFROM calls\nWITH SNAPSHOT",
    ),
    "SESSION": (
        "Events whose starts are less than `gap` apart, from the first start to `gap` behind the last; how long they "
        "last does not count. Sessions are cut at multiples of `maximum`, so one can last almost twice as long. Where "
        "the gap should count from ends, `STITCH((SELECT DISTINCT key FROM EXTEND(s, gap)))` gives the stretches.",
        "SELECT COUNT(*) AS n\nFROM clicks\nWITH SESSION(4us)",
    ),
    "COUNT": (
        "At every start, the events of the last `n` distinct starts, once there are so many. The result is a point 1 "
        "microsecond behind the start.",
        "SELECT COUNT(*) AS n, MAX(page) AS page\nFROM clicks\nWITH COUNT(2)",
    ),
}  # fmt: skip
WINDOWS = {
    name: Clause(USAGE[name].split(", such as")[0].removesuffix(" without arguments"), about, example)
    for name, (about, example) in _OF_WINDOWS.items()
}
WINDOW_OPTIONS = {
    "OFFSET": Clause(
        "OFFSET duration",
        "Moves the grid of `TUMBLING` and `HOPPING`.",
        "SELECT COUNT(*) AS n\nFROM clicks\nWITH TUMBLING(10us) OFFSET 3us",
    ),
    "RESULT AT": Clause(
        "RESULT AT WINDOW | END | HOLD",
        "A result is valid as long as its window, at the instant of its end, or from its end until the next.",
        "SELECT COUNT(*) AS n\nFROM clicks\nWITH TUMBLING(5us) RESULT AT HOLD",
    ),
    "ALLOWED LATENESS": Clause(
        "ALLOWED LATENESS duration",
        "Results come so long before they are final and again, with the next `revision`, whenever events change them.",
        "SELECT who, COUNT(*) AS n\nFROM clicks\nGROUP BY who\nWITH TUMBLING(10us) ALLOWED LATENESS 1us",
    ),
}
JOINS = {
    "INNER JOIN": Clause(
        "[INNER] JOIN relation ON condition",
        "Every pair that the condition holds for, while both are valid.",
        "SELECT calls.who, city, page\nFROM calls\nINNER JOIN clicks ON calls.who = clicks.who",
    ),
    "LEFT [OUTER] JOIN": Clause(
        "LEFT [OUTER] JOIN relation ON condition",
        "The pairs, and left events with nulls for as long as they have no partner.",
        "SELECT calls.who, page\nFROM calls\nLEFT JOIN clicks ON calls.who = clicks.who",
    ),
    "FULL [OUTER] JOIN": Clause(
        "FULL [OUTER] JOIN relation ON condition",
        "The same for both sides.",
        "SELECT cost, page\nFROM calls\nFULL JOIN clicks ON calls.who = clicks.who",
    ),
    "LEFT SEMI JOIN": Clause(
        "[LEFT] SEMI JOIN relation ON condition",
        "Left events, while a match exists.",
        "SELECT who, city\nFROM calls\nLEFT SEMI JOIN clicks ON calls.who = clicks.who",
    ),
    "LEFT ANTI SEMI JOIN": Clause(
        "[LEFT] ANTI [SEMI] JOIN relation ON condition",
        "Left events, while no match exists.",
        "SELECT who, city\nFROM calls\nLEFT ANTI SEMI JOIN clicks ON calls.who = clicks.who",
    ),
    "CLIP JOIN": Clause(
        "[LEFT] CLIP JOIN relation ON condition",
        "Left events, cut short where the next match starts.",
        "SELECT k.who, k.page\nFROM SET_DURATION(clicks, FOREVER) AS k\nCLIP JOIN clicks AS next ON k.who = next.who",
    ),
    "ASOF [LEFT] JOIN": Clause(
        "ASOF [INNER | LEFT [OUTER]] JOIN relation ON condition [WITHIN duration]",
        "Left events with the last right one that had started when they started, no longer ago than `WITHIN`.",
        "SELECT calls.who, city, page\nFROM calls\nASOF JOIN clicks ON calls.who = clicks.who WITHIN 5us",
    ),
    "CROSS JOIN": Clause(
        "CROSS JOIN relation",
        "Everything that overlaps.",
        "SELECT city, page\nFROM calls\nCROSS JOIN clicks",
    ),
    "USING": Clause(
        "kind JOIN relation USING (column, ...)",
        "In place of `ON`: by columns that both sides have.",
        "SELECT city, country, cost\nFROM calls\nJOIN cities USING (city)",
    ),
}
_OF_LIFETIMES = {
    "shift": ("Later, or with a negative duration earlier.", "SHIFT(clicks, 5us)"),
    "extend": ("Each event ends so much later.", "EXTEND(calls, 5us)"),
    "set_duration": (
        "Each event lasts so long: a duration, `FOREVER`, or microseconds as an expression.",
        "SET_DURATION(clicks, 3us)",
    ),
    "clip_duration": ("Each event lasts at most so long.", "CLIP_DURATION(calls, 5us)"),
    "point_at_end": ("The instant at which each event ends.", "POINT_AT_END(calls)"),
    "chop": ("Events cut at every multiple of the period.", "CHOP(calls, 10us)"),
    "stitch": ("Equal rows that touch become one event.", "STITCH((SELECT who FROM calls))"),
    "quantize": ("From the start of the window of the start to the end of that of the end.", "QUANTIZE(calls, 5us)"),
    "hop_lifetime": (
        "From the start of an event on the grid of `hop`, for `width`.",
        "HOP_LIFETIME(clicks, 10us, 5us)",
    ),
    "session_lifetime": (
        "To the end of its session; sessions per `s PARTITION BY key`.",
        "SESSION_LIFETIME(clicks PARTITION BY who, 4us)",
    ),
    "alter_lifetime": (
        "Any start that follows the old one, and any duration.",
        "ALTER_LIFETIME(clicks, START() + 5us, 10us)",
    ),
}
LIFETIMES = {
    name.upper(): Clause(FUNCTIONS[name][0], about, f"SELECT who\nFROM {example}")
    for name, (about, example) in _OF_LIFETIMES.items()
}
TIMES = {
    "START": Clause(
        "START() | START(relation)",
        "When the event starts; in a join, the one of that relation.",
        "SELECT who, unix_micros(START()) AS since\nFROM calls",
    ),
    "END": Clause(
        "END() | END(relation)",
        "When it ends; null if it never does.",
        "SELECT calls.who, unix_micros(END(calls)) AS until\nFROM calls\nJOIN clicks ON calls.who = clicks.who",
    ),
    "WINDOW_START": Clause(
        "WINDOW_START()",
        "Where the window of a result begins, wherever the result is placed.",
        "SELECT unix_micros(WINDOW_START()) AS since, COUNT(*) AS n\nFROM clicks\nWITH HOPPING(10us, 5us)",
    ),
    "WINDOW_END": Clause(
        "WINDOW_END()",
        "Where it ends.",
        "SELECT unix_micros(WINDOW_END()) AS until, COUNT(*) AS n\nFROM clicks\nWITH HOPPING(10us, 5us)",
    ),
}
EXPRESSIONS = {
    "CASE": Clause(
        "CASE [value] WHEN condition | value THEN value ... [ELSE value] END",
        "The first that holds.",
        "SELECT who, CASE WHEN cost > 4 THEN 'dear' ELSE 'cheap' END AS price\nFROM calls",
    ),
    "CAST": Clause(
        "CAST(value AS type) | TRY_CAST(value AS type) | value::type",
        "Another type; null where the value does not fit.",
        "SELECT who, CAST(cost AS STRING) AS text, 'x'::INT AS number\nFROM calls",
    ),
    "IN": Clause(
        "value [NOT] IN (value, ...)",
        "One of them.",
        "SELECT who, page\nFROM clicks\nWHERE page NOT IN ('home', 'help')",
    ),
    "BETWEEN": Clause(
        "value [NOT] BETWEEN low AND high",
        "Both ends are in.",
        "SELECT who, cost\nFROM calls\nWHERE cost BETWEEN 2 AND 3",
    ),
    "LIKE": Clause(
        "text [NOT] LIKE pattern | ILIKE pattern | RLIKE regex | REGEXP regex",
        "A pattern with `%` and `_`, whatever its case with `ILIKE`; or a regular expression.",
        "SELECT who, city\nFROM calls\nWHERE city RLIKE '^R'",
    ),
    "IS": Clause(
        "value IS [NOT] NULL | TRUE | FALSE | DISTINCT FROM value",
        "Comparisons that are never null.",
        "SELECT who, city\nFROM calls\nWHERE city IS DISTINCT FROM 'Rome'",
    ),
    "AND": Clause(
        "condition AND condition | condition OR condition | NOT condition",
        "Null where it depends on a null.",
        "SELECT who\nFROM clicks\nWHERE NOT (page = 'home' AND who = 'bob')",
    ),
    "DIV": Clause(
        "+ - * / % DIV || = == <> != < <= > >= <=>",
        "Operators, as in Spark SQL; the [functions](functions.md) are on a page of their own.",
        "SELECT who || '!' AS loud, cost DIV 2 AS half, cost / 2 AS exactly\nFROM calls",
    ),
    "FILTER": Clause(
        "aggregate([DISTINCT] value) [FILTER (WHERE condition)]",
        "Of some events only. `COUNT`, `MIN` and `MAX` take `DISTINCT`; for other aggregates, first group by the value "
        "over the same window, then aggregate `WITH SNAPSHOT`.",
        "SELECT COUNT(DISTINCT who) AS people, COUNT(*) FILTER (WHERE page = 'home') AS homes\nFROM clicks\n"
        "WITH TUMBLING(10us)",
    ),
    "WITHIN GROUP": Clause(
        "PERCENTILE_CONT(share) WITHIN GROUP (ORDER BY value [ASC | DESC])",
        "The usual spelling of `PERCENTILE_CONT(value, share)`.",
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY cost) AS middle\nFROM calls\nWITH TUMBLING(20us)",
    ),
    "INTERVAL": Clause(
        "5s | 1h 30m | 2 MINUTES | INTERVAL '5' SECOND | INTERVAL '1 hour 30 minutes'",
        "Durations. Months and years have no fixed length and are refused.",
        "SELECT who, unix_micros(START() + INTERVAL '2' SECOND) AS later\nFROM clicks",
    ),
}
OPTIONS = {
    "name": Clause("SET name = text", "The name of the app.", "SET name = 'counting';"),
    "store": Clause("SET store = text", "The directory where everything lives.", "SET store = './counting';"),
    "epoch_rows": Clause(
        "SET epoch_rows = n", "The most that an epoch takes of each input.", "SET epoch_rows = 50000;"
    ),
    "tasks": Clause("SET tasks = n", "The most tasks of an epoch; Spark's cores by default.", "SET tasks = 4;"),
    "allow_unbounded": Clause(
        "SET allow_unbounded = true", "Queries that remember for ever are let run.", "SET allow_unbounded = true;"
    ),
    "master": Clause("SET master = text", "Spark's master.", "SET master = 'local[2]';"),
    "spark.": Clause("SET spark.setting = value", "A setting of Spark.", "SET spark.executor.memory = '4g';"),
}
SOURCES = {
    "files": (
        "JSON lines, CSV, Parquet and Arrow files in order of name, each once ([connect.md](connect.md)).",
        "FROM files('visits.jsonl', format => 'jsonl')",
    ),
}
SINKS = {
    "jsonl": ("A file with a line for each result.", "TO jsonl('out.jsonl')"),
    "parquet": ("A directory of Parquet files.", "TO parquet('out')"),
    "console": ("The terminal.", "TO console()"),
}
ELSEWHERE = {
    "TUMBLE": Clause(
        "FROM TUMBLE([TABLE] stream, time, size) ... GROUP BY ..., window_start, window_end",
        "`WITH TUMBLING(size)`, over points.",
        "SELECT who, COUNT(*) AS n\nFROM TUMBLE(clicks, t, 10us)\nGROUP BY who, window_start, window_end",
    ),
    "HOP": Clause(
        "FROM HOP([TABLE] stream, time, hop, size) ... GROUP BY ..., window_start, window_end",
        "`WITH HOPPING(size, hop)`: the hop first.",
        "SELECT COUNT(*) AS n\nFROM HOP(TABLE clicks, DESCRIPTOR(t), 5us, 10us)\nGROUP BY window_start, window_end",
    ),
    "SESSION": Clause(
        "FROM SESSION([TABLE] stream PARTITION BY key, time, gap) ... GROUP BY key, window_start, window_end",
        "`GROUP BY key WITH SESSION(gap)`.",
        "SELECT who, COUNT(*) AS n\nFROM SESSION(TABLE clicks PARTITION BY who, DESCRIPTOR(t), 4us)\n"
        "GROUP BY who, window_start, window_end",
    ),
}
REFERENCE = {
    "Statements": Group("Statements end in `;` and use names that stand before them.", STATEMENTS),
    "CREATE STREAM": Group("What follows the columns, in any order.", STREAM),
    "Queries": Group("Behind `FROM` in this order; `HAVING` may also stand before `WITH`.", QUERY),
    "Windows": Group("An event is in every window that it overlaps.", WINDOWS),
    "Options of windows": Group("Behind the window, in any order.", WINDOW_OPTIONS),
    "Joins": Group("Two events match when the condition holds and their lifetimes overlap.", JOINS),
    "Lifetimes": Group("Functions in `FROM` that change when events are valid; they nest.", LIFETIMES),
    "Times": Group("Functions of the lifetime of an event, as timestamps.", TIMES),
    "Expressions": Group("`:name` stands for a value from outside, here, in windows and in options.", EXPRESSIONS),
    "Options of SET": Group("`name` and `store` only in a program that is a whole app.", OPTIONS),
    "Spellings from elsewhere": Group("These mean the same and are accepted.", ELSEWHERE),
}
