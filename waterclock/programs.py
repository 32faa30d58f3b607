"""Programs in SQL as parts of an app: connectors by name, options, and where a text comes from."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from waterclock.connect.console import console
from waterclock.connect.files import files
from waterclock.connect.jsonl import jsonl
from waterclock.connect.parquet import parquet
from waterclock.errors import ConfigError, SqlError
from waterclock.lang.fluent import Stream
from waterclock.lang.sql.given import Given
from waterclock.lang.sql.program import Program
from waterclock.lang.sql.source import Source
from waterclock.optimizer import find_unbounded
from waterclock.plan import Node
from waterclock.plan.strategy import Strategy

SOURCES: dict[str, Callable[..., Any]] = {"files": files}
SINKS: dict[str, Callable[..., Any]] = {"jsonl": jsonl, "parquet": parquet, "console": console}
_PROBLEMS = {
    "PLAN.UNBOUNDED": "remember events that never end, for ever",
    "PLAN.STUCK": "wait for the end of events that never end, so time could not pass it",
}


class AppLike(Protocol):
    """The app, as far as programs know it."""

    name: str
    store: str
    master: str
    spark: dict[str, str]
    epoch_rows: int
    tasks: int | None
    allow_unbounded: bool

    @property
    def stream(self) -> Callable[..., Stream]: ...

    def table(self, name: str, schema: Mapping[str, object], rows: Any) -> Stream: ...

    def read(self, name: str) -> Stream: ...

    def add_output(self, name: str | None, plan: Node, sink: Any, recovery: Strategy | None = None) -> None: ...


class AppTarget:
    """What a program is run into. ``whole``: the program is the app, so it may also name it and its store."""

    sources: Mapping[str, Callable[..., Any]] = SOURCES
    sinks: Mapping[str, Callable[..., Any]] = SINKS

    def __init__(self, app: AppLike, whole: bool) -> None:
        self._app = app
        self._whole = whole

    @property
    def options(self) -> Mapping[str, Callable[[Any], None]]:
        kinds: dict[str, type] = {"epoch_rows": int, "tasks": int, "allow_unbounded": bool, "master": str}
        if self._whole:
            kinds = {"name": str, "store": str, **kinds}
        return {**{option: self._setter(option, kind) for option, kind in kinds.items()}, "spark.": self._set_spark}

    def _setter(self, option: str, kind: type) -> Callable[[Any], None]:
        def put(value: Any) -> None:
            right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
            if not right or (kind is int and value < 1):
                wanted = {int: "a whole number, at least 1", bool: "true or false"}.get(kind, "a text")
                raise ConfigError("CONFIG.BAD_OPTION", option=option, value=value, fix=f"It takes {wanted}.")
            setattr(self._app, option, value)

        return put

    def _set_spark(self, setting: tuple[str, Any]) -> None:
        name, value = setting
        self._app.spark[name] = str(value).lower() if isinstance(value, bool) else str(value)

    def declare_stream(self, name: str, schema: Mapping[str, object], source: Any, options: Mapping[str, Any]) -> Node:
        return self._app.stream(name, schema, source=source, **options)._plan

    def declare_table(self, name: str, schema: Mapping[str, object], rows: Any) -> Node:
        return self._app.table(name, schema, rows)._plan

    def late_rows(self, name: str) -> Node:
        return self._app.read(f"{name}.late")._plan

    def add_output(self, name: str, plan: Node, sink: Any, recovery: Strategy | None) -> None:
        self._app.add_output(name, plan, sink, recovery)

    def unbounded(self, plan: Node) -> tuple[str, Node] | None:
        found = None if self._app.allow_unbounded else find_unbounded(plan)
        return None if found is None else (_PROBLEMS[found[0]], found[1])


def source_of(program: str | os.PathLike[str]) -> Source:
    """A program as text, or the file that holds it: a path, or a text that ends in .sql on one line."""
    if isinstance(program, str) and not ("\n" not in program and program.strip().endswith(".sql")):
        return Source(program)
    path = Path(program.strip() if isinstance(program, str) else program)
    try:
        return Source(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SqlError("SQL.UNREADABLE", file=path, reason=reason) from None


def load(
    app: AppLike,
    program: Source,
    params: Mapping[str, Any],
    names: Mapping[str, Given],
    slacks: Mapping[str, int | None],
    whole: bool,
) -> Program:
    """Runs a program into an app. What is wrong with it is in ``errors``."""
    loaded = Program(program, params, AppTarget(app, whole), dict(names), dict(slacks), bare=not whole)
    loaded.run()
    return loaded
