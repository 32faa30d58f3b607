"""What users say with ``.option(name, value)``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from waterclock.errors import ConfigError, did_you_mean
from waterclock.schema import Schema
from waterclock.time import BEGINNING, FOREVER, instant

KNOWN = ("store", "stream", "from", "to", "where", "columns", "starting", "maxRows")
EARLIEST, LATEST = "earliest", "latest"


class Options:
    """All of them are looked at when the first is: what ``.load()`` finds, nobody has to look for in a failed query."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given  # in lower case; with those that Spark itself uses, such as checkpointLocation
        store = self._needed("store", "Name the directory of the store: .option('store', './store').")
        self.store = str(Path(store).absolute())
        """Absolute: tasks may run elsewhere in the file system."""
        self.stream = self._needed("stream", "Name a stream or an output: .option('stream', 'clicks').")
        for name in given:
            if name not in map(str.lower, KNOWN) and (guess := did_you_mean(name, list(KNOWN))):
                raise ConfigError("CONFIG.BAD_OPTION", option=name, value=given[name], fix=guess.strip())
        self.start, self.end = self._span()
        """Of the time that is asked for."""
        self.where = given.get("where")
        self.starting = self._starting()
        """``earliest``, ``latest`` or the number of an event."""
        self.max_rows = self._number("maxRows", 1, "Write a number, at least 1.") if "maxrows" in given else None
        """Of a micro-batch."""

    def columns(self, kinds: Mapping[str, str]) -> list[str]:
        """Those that are asked for; empty: all."""
        found = [name.strip() for name in self._given.get("columns", "").split(",") if name.strip()]
        for name in found:
            Schema(tuple(kinds.items())).type_of(name, f"the stream {self.stream!r}")
            if found.count(name) > 1:
                raise ConfigError("SCHEMA.DUPLICATE_COLUMN", column=name)
        return found

    def _span(self) -> tuple[int, int]:
        start = instant(self._given["from"]) if "from" in self._given else BEGINNING
        end = instant(self._given["to"]) if "to" in self._given else FOREVER
        if end <= start:
            fix = "It is not behind the time that 'from' says: rows are read whose lifetime overlaps [from, to)."
            raise ConfigError("CONFIG.BAD_OPTION", option="to", value=self._given.get("to"), fix=fix)
        return start, end

    def _starting(self) -> str | int:
        value = self._given.get("starting", EARLIEST)
        if value in (EARLIEST, LATEST):
            return value
        return self._number("starting", 0, "Choose one of: earliest, latest, the number of an event.")

    def _needed(self, name: str, fix: str) -> str:
        if not self._given.get(name):
            raise ConfigError("CONFIG.BAD_OPTION", option=name, value=self._given.get(name), fix=fix)
        return self._given[name]

    def _number(self, name: str, least: int, fix: str) -> int:
        text = self._given[name]
        if not (text.isascii() and text.isdigit() and least <= int(text) < FOREVER):
            raise ConfigError("CONFIG.BAD_OPTION", option=name, value=text, fix=fix)
        return int(text)
