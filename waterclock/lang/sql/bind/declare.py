"""CREATE STREAM and CREATE TABLE: from clauses to the options of a declaration."""

from __future__ import annotations

from typing import Any

from waterclock.errors import ConfigError
from waterclock.lang.sql import tree
from waterclock.lang.sql.bind.constants import constant, duration
from waterclock.lang.sql.bind.context import Context
from waterclock.lang.sql.bind.scalars import type_of
from waterclock.lang.sql.names import listed, match, nearest
from waterclock.lang.sql.source import Span

_TIMES = ("timestamp", "date", "bigint", "int")


def schema_of(context: Context, columns: tuple[tree.ColumnType, ...]) -> dict[str, object]:
    schema: dict[str, object] = {}
    for column in columns:
        if match(column.name.text, schema):
            raise context.error("SQL.DUPLICATE_COLUMN", column.name.span, column=column.name.text)
        if column.name.text.startswith("_") or not column.name.text:
            raise context.error("SQL.BAD_COLUMN_NAME", column.name.span, column=column.name.text)
        schema[column.name.text] = type_of(context, column.type)
    return schema


def rows_of(context: Context, node: tree.CreateTable, schema: dict[str, object]) -> list[dict[str, Any]]:
    assert node.rows is not None
    rows = []
    for row in node.rows:
        if len(row) != len(schema):
            span = row[0].span.to(row[-1].span)
            fix = f"The table has {len(schema)}: {', '.join(schema)}."
            raise context.error("SQL.BAD_VALUE", span, what="A row of values", value=f"{len(row)} long", fix=fix)
        values = [constant(context, value, "A value of a table") for value in row]
        rows.append(dict(zip(schema, values, strict=True)))
    return rows


class StreamOptions:
    """The options of ``App.stream`` that the clauses of a CREATE STREAM say."""

    def __init__(self, context: Context, node: tree.CreateStream, schema: dict[str, object]) -> None:
        self.context = context
        self.node = node
        self.schema = schema
        self.clauses = {clause.kind: clause for clause in node.clauses}

    def options(self) -> dict[str, Any]:
        watermark = self._watermark()
        options: dict[str, Any] = {**self._lifetime(watermark.pop("column", None)), **watermark}
        self._check_start(options)
        for kind, option in (("IDLE AFTER", "idle"), ("RETAIN", "retention")):
            if kind in self.clauses:
                options[option] = duration(
                    self.context, self.clauses[kind].values[0], kind, least=1 if option == "idle" else 0
                )
        for kind, option in (("MAX AHEAD", "max_ahead"), ("MAX JUMP", "max_jump")):
            if kind in self.clauses:
                clause = self.clauses[kind]
                options[option] = None if clause.words else duration(self.context, clause.values[0], kind)
        for kind, option in (("LATE", "late"), ("BAD", "on_bad"), ("AHEAD", "ahead")):
            if kind in self.clauses:
                word = self.clauses[kind].words[0].text
                options[option] = "divert" if word == "TO" else word.lower()
        return options

    @property
    def late_to(self) -> tree.Word | None:
        """The name that late rows are to be found under."""
        words = self.clauses["LATE"].words if "LATE" in self.clauses else ()
        return words[1] if len(words) == 2 else None

    # -- lifetime ------------------------------------------------------------------------------------------

    def _lifetime(self, watermarked: str | None) -> dict[str, Any]:
        if "LIFETIME" in self.clauses and "POINT AT" in self.clauses:
            span = self.clauses["POINT AT"].span
            raise self.context.error("SQL.BAD_LIFETIME", span, what="LIFETIME and POINT AT contradict each other.")
        if "POINT AT" in self.clauses:
            return {"time": self._column(self.clauses["POINT AT"].values[0])}
        if "LIFETIME" not in self.clauses:
            if watermarked is None:
                raise self.context.error(
                    "SQL.NO_LIFETIME", self.node.name.span, stream=self.node.name.text, time=self._some_time()
                )
            return {"time": watermarked}
        start, end = self.clauses["LIFETIME"].values
        options: dict[str, Any] = {"time": self._column(start)}
        if isinstance(end, tree.Name):
            return {**options, "end": self._column(end)}
        if isinstance(end, tree.Operator) and end.function == "add" and end.args[0] == start:
            return {**options, "duration": duration(self.context, end.args[1], "The lifetime")}
        what = "The end of a lifetime is a column, or the start plus a duration."
        raise self.context.error("SQL.BAD_LIFETIME", end.span, what=what)

    def _column(self, node: tree.Expression) -> str:
        """A column that holds times."""
        if not isinstance(node, tree.Name) or len(node.parts) > 1:
            raise self.context.error("SQL.BAD_LIFETIME", node.span, what="The start of a lifetime is a column.")
        return self._time_column(node.last, node.span)

    def _time_column(self, name: str, span: Span) -> str:
        found = match(name, self.schema)
        if not found:
            raise self.context.error(
                "SQL.UNKNOWN_COLUMN", span, column=name, where=self.node.name.text, choices=listed(self.schema),
                guess=nearest(name, list(self.schema)),
            )  # fmt: skip
        kind = str(self.schema[found[0]])
        if kind not in _TIMES:
            fix = " Declare it as TIMESTAMP."
            takes = "a timestamp, a date, or a bigint of microseconds"
            raise self.context.error("SQL.WRONG_TYPE", span, what="A lifetime", types=kind, takes=takes, fix=fix)
        return found[0]

    # -- watermark -----------------------------------------------------------------------------------------

    def _watermark(self) -> dict[str, Any]:
        clause = self.clauses.get("WATERMARK")
        if clause is None:
            raise self.context.error(
                "SQL.NO_WATERMARK", self.node.name.span, stream=self.node.name.text, time=self._some_time()
            )
        word = clause.words[0].text if clause.words else ""
        if word == "NONE":
            return {"slack": None}
        if word == "IN":
            return {"cti": self._time_column(clause.words[1].text, clause.words[1].span)}
        if word == "FROM":
            slack = duration(self.context, clause.values[0], "The wait of a watermark", 0) if clause.values else 0
            return {"time_from": clause.words[1].text, "slack": slack}
        column, slack = self._delayed(clause.values[0])
        if word == "FOR" and column != self._time_column(clause.words[1].text, clause.words[1].span):
            what = f"WATERMARK FOR {clause.words[1].text} is computed from {column}."
            raise self._bad_watermark(clause.span, what)
        return {"slack": slack, "column": column}

    def _delayed(self, node: tree.Expression) -> tuple[str, int]:
        """``ts`` or ``ts - 2s``: the column and how long to wait."""
        wait = 0
        if isinstance(node, tree.Operator) and node.function == "subtract" and len(node.args) == 2:
            wait = duration(self.context, node.args[1], "The wait of a watermark", least=0)
            node = node.args[0]
        if not isinstance(node, tree.Name) or len(node.parts) > 1:
            raise self._bad_watermark(node.span, "A watermark is a time column, minus a duration.")
        return self._time_column(node.last, node.span), wait

    def _check_start(self, options: dict[str, Any]) -> None:
        clause = self.clauses["WATERMARK"]
        if not clause.values or (clause.words and clause.words[0].text == "FROM"):
            return
        column, _ = self._delayed(clause.values[0])
        if column != options["time"]:
            what = f"Events start at {options['time']}, and the watermark is of {column}."
            raise self._bad_watermark(clause.span, what)

    def _bad_watermark(self, span: Span, what: str) -> ConfigError:
        return self.context.error("SQL.BAD_WATERMARK", span, what=what, time=self._some_time())

    def _some_time(self) -> str:
        """A column that could hold the time, for hints."""
        for clause in ("POINT AT", "LIFETIME"):
            if clause in self.clauses:
                node = self.clauses[clause].values[0]
                return self.context.source.slice(node.span)
        return next((name for name, kind in self.schema.items() if kind == "timestamp"), "ts")
