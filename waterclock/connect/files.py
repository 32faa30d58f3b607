"""Files as a source: JSON lines, CSV, Parquet and Arrow, in order of name, each once.

The position is the last name taken, with the offset inside a text file, plus a digest of all names taken: so a file
that comes later and sorts before it is noticed, not lost, and the position stays small. The digest is exact while
taken files stay where they are. Once some are gone it no longer tells, and then a file counts as new that came into
the directory (by the time of its last inode change) after the last look.
"""

from __future__ import annotations

import glob
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa

from waterclock.connect.base import Chunk, External
from waterclock.connect.formats import Block, arrow, csv, jsonl, parquet
from waterclock.connect.rows import check_names, conform
from waterclock.errors import ConfigError, DataError
from waterclock.streams import Declaration, Rejected
from waterclock.streams.border import LIMIT, extent_fits

BLOCK = 32 << 20
LOOK_EVERY = 0.05
CLOCK = 5 if sys.platform == "linux" else time.CLOCK_REALTIME
"""The clock that file systems stamp with: Linux's CLOCK_REALTIME_COARSE, which lags behind ``time.time_ns``."""
TICK = 0.01
SETTLED = 2_000_000_000
"""A directory whose time stamp is this many nanoseconds old has not changed since the last look."""


class Text(NamedTuple):
    parse: Callable[[Block, Declaration], tuple[pl.DataFrame, list[Rejected]]]
    cut: Callable[[bytes], int]
    """The end of the last whole row in a block; 0 if there is none."""
    lines: Callable[[Block], Iterator[int]]
    """The numbers of the lines that rows begin on."""
    header: bool


class Columnar(NamedTuple):
    read: Callable[[Path], pl.DataFrame]
    types: Callable[[Path], dict[str, pl.DataType]]
    extent: Callable[[Path, Declaration], tuple[int, int, int] | None]


TEXT = {
    "jsonl": Text(jsonl.parse, lambda data: data.rfind(b"\n") + 1, jsonl.lines, header=False),
    "csv": Text(csv.parse, csv.cut, csv.lines, header=True),
}
COLUMNAR = {
    "parquet": Columnar(parquet.read, parquet.types, parquet.extent),
    "arrow": Columnar(arrow.read, arrow.types, arrow.extent),
}
FORMATS = (*TEXT, *COLUMNAR)
SUFFIXES = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".parquet": "parquet",
    ".arrow": "arrow", ".ipc": "arrow", ".feather": "arrow",
}  # fmt: skip


@dataclass(frozen=True)
class FileSource:
    pattern: str
    format: str | None = None
    watch: bool = False
    copy: bool = False
    block: int = BLOCK

    def open(self, declaration: Declaration, position: Any) -> FileReader:
        return FileReader(self, declaration, Position(**position) if position else Position())


def files(
    pattern: str | os.PathLike[str], format: str | None = None, *, watch: bool = False, copy: bool = False,
    block: int = BLOCK,
) -> FileSource:  # fmt: skip
    """Reads files in order of name, each once.

    ``pattern`` is a file, a directory or a glob such as ``'in/*.csv'``. Names that start with ``.`` or ``_`` or end in
    ``.tmp`` are passed over. ``format`` (jsonl, csv, parquet, arrow) follows from the suffix unless given.

    ``watch`` waits for more files instead of ending the stream. Write a file under a hidden name and rename it: what is
    there under its name counts as complete. New names must sort behind the ones before, as dates and counters do.

    Parquet and Arrow files with exactly the declared types are read in place and must stay as they are; ``copy``
    takes their rows into the store instead. Text is taken in blocks of ``block`` bytes, cut at line ends.
    """
    if format is not None and format not in FORMATS:
        raise ConfigError(
            "CONFIG.BAD_OPTION", option="format", value=format, fix=f"Choose one of: {', '.join(FORMATS)}."
        )
    if block < 1:
        raise ConfigError("CONFIG.BAD_OPTION", option="block", value=block, fix="It must be at least 1 byte.")
    return FileSource(os.fspath(pattern), format, watch, copy, block)


@dataclass(frozen=True)
class Position:
    file: str = ""
    """The last file taken, wholly or in part."""
    offset: int | None = None
    """In part: the first byte not taken ..."""
    line: int = 1
    """... and the number of its line."""
    taken: int = 0
    """How many files were taken wholly, ..."""
    digest: int = 0
    """... a digest of their names, ..."""
    looked: int = 0
    """... and when the directory was last looked at, in nanoseconds."""

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))

    def past(self, name: str) -> Position:
        return Position(name, None, 1, self.taken + 1, (self.digest + _digest([name])) % 2**64, self.looked)


class Directory:
    """What matches the pattern now."""

    def __init__(self, pattern: str) -> None:
        whole = os.path.abspath(pattern)
        if glob.has_magic(pattern):
            self.root = Path(whole)
            while glob.has_magic(str(self.root)):
                self.root = self.root.parent
            self._pattern = whole
            self._flat = self.root == Path(whole).parent and "**" not in whole
        else:
            folder = os.path.isdir(whole) or not (os.path.exists(whole) or Path(whole).suffix)
            self.root = Path(whole) if folder else Path(whole).parent
            self._pattern = os.path.join(glob.escape(whole), "*") if folder else glob.escape(whole)
            self._flat = True
        self._names: set[str] = set()
        self._stamp = 0

    def look(self) -> list[str]:
        """Names relative to the root, in order."""
        stamp = self._changed()
        if stamp == 0 or stamp != self._stamp:
            found: set[str] = set()
            for path in glob.glob(self._pattern, recursive=True):
                name = Path(os.path.relpath(path, self.root)).as_posix()
                hidden = name.endswith(".tmp") or any(part[0] in "._" for part in name.split("/"))
                if not hidden and (name in self._names or os.path.isfile(path)):
                    found.add(name)
            self._names, self._stamp = found, stamp
        return sorted(self._names)

    def _changed(self) -> int:
        """When the directory last changed; 0 if that does not tell."""
        try:
            stamp = os.stat(self.root).st_mtime_ns if self._flat else 0
        except OSError:
            return 0
        return stamp if time.time_ns() - stamp > SETTLED else 0


@dataclass
class FileReader:
    source: FileSource
    declaration: Declaration
    position: Position
    finished: bool = False
    waiting: bool = False
    _queue: list[str] = field(default_factory=list)
    """Names to be taken, the next one last."""
    _known: set[str] = field(default_factory=set)
    _next_look: float = 0.0

    def __post_init__(self) -> None:
        self._directory = Directory(self.source.pattern)
        self._look(self._missed)
        if not self.source.watch and not self._known and not self.position.file:
            raise DataError("DATA.NO_FILES", pattern=self.source.pattern)

    def poll(self, cti: int, now: int) -> Chunk | None:
        if not self._queue and self.source.watch and time.monotonic() >= self._next_look:
            self._look(lambda behind: sorted(behind - self._known))
        if not self._queue:
            self.finished = not self.source.watch
            return None
        name = self._queue[-1]
        path = self._directory.root / name
        form = _format(path, self.source.format)
        try:
            if form in TEXT:
                chunk, after = self._text(name, path, TEXT[form])
            else:
                after = self.position.past(name)
                chunk = self._columnar(name, path, form, cti, now)
        except (OSError, pl.exceptions.PolarsError, pa.ArrowException) as error:
            raise _unreadable(path, error) from error
        if after.offset is None:
            self._queue.pop()
        self.position = after
        return replace(chunk, position=after.to_json())

    def close(self) -> None:
        pass

    # -- which files ---------------------------------------------------------------------------------------

    def _look(self, missed: Callable[[set[str]], list[str]]) -> None:
        names, looked = self._names()
        self._next_look = time.monotonic() + LOOK_EVERY
        last, partly = self.position.file, self.position.offset is not None
        behind = {name for name in names if name < last or (name == last and not partly)}
        for name in missed(behind)[:1]:
            raise DataError("DATA.FILE_ORDER", path=self._directory.root / name, last=last)
        if partly and last not in names:
            reason = f"it is gone, and was read only up to byte {self.position.offset}"
            raise DataError("DATA.UNREADABLE", path=self._directory.root / last, reason=reason)
        self._known = set(names)
        self._queue = [name for name in reversed(names) if name not in behind]
        self.position = replace(self.position, looked=looked)

    def _names(self) -> tuple[list[str], int]:
        """What is there, and a time: all of it came before, everything that comes later has that time or a later one.

        So a name that came in this very tick waits for the next one; the tries are bounded, since clocks may differ.
        """
        for _ in range(5):
            looked = time.clock_gettime_ns(CLOCK)
            names = self._directory.look()
            if all(name in self._known or self._came(name) < looked for name in names):
                break
            time.sleep(TICK)
        return names, looked

    def _came(self, name: str) -> int:
        try:
            return (self._directory.root / name).stat().st_ctime_ns
        except FileNotFoundError:
            return 0

    def _missed(self, behind: set[str]) -> list[str]:
        """After a restart: names that sort before the last one taken and were never taken."""
        at = self.position
        if (len(behind), _digest(behind)) == (at.taken, at.digest):
            return []
        return sorted(name for name in behind if self._came(name) >= at.looked)

    # -- what is in them -----------------------------------------------------------------------------------

    def _text(self, name: str, path: Path, form: Text) -> tuple[Chunk, Position]:
        at = self.position
        start, line = (at.offset, at.line) if name == at.file and at.offset is not None else (0, 1)
        with path.open("rb") as file:
            header = _without_mark(file.readline()) if form.header else b""
            if start == 0 and form.header:
                start, line = file.tell(), 2
            size = os.fstat(file.fileno()).st_size
            if start > size:
                reason = f"it shrank below byte {start}, up to which it was read"
                raise DataError("DATA.UNREADABLE", path=path, reason=reason)
            file.seek(start)
            data = file.read(self.source.block)
            while start + len(data) < size:
                end = form.cut(data)
                if end:
                    data = data[:end]
                    break
                more = file.read(self.source.block)
                if not more:
                    break
                data += more
        end = start + len(data)
        where = name if line <= 2 else f"{name} from line {line}"
        block = Block(data if start else _without_mark(data), name, path, line, header)
        rows, rejected = form.parse(block, self.declaration)
        after = at.past(name) if end >= size else replace(at, file=name, offset=end, line=line + data.count(b"\n"))
        return Chunk(None, where, rows, rejected, place=Lines(form, block, rejected)), after

    def _columnar(self, name: str, path: Path, form: str, cti: int, now: int) -> Chunk:
        codec = COLUMNAR[form]
        types = codec.types(path)
        check_names(list(types), self.declaration, name)
        if not self.source.copy and types == self.declaration.schema.polars():
            external = self._in_place(path, form, cti, now)
            if external is not None:
                return Chunk(None, name, external=external)
        rows, rejected = conform(codec.read(path), self.declaration, name)
        return Chunk(None, name, rows, rejected)

    def _in_place(self, path: Path, form: str, cti: int, now: int) -> External | None:
        """The file itself as a piece of the stream, if no row of it can be bad or late."""
        d = self.declaration
        assert d.time is not None
        if d.end is not None or d.schema.type_of(d.time) == "int":
            return None
        extent = COLUMNAR[form].extent(path, d)
        if extent is None:
            return None
        rows, least, greatest = extent[0], extent[1] * d.ticks(d.time), extent[2] * d.ticks(d.time)
        if least <= -LIMIT or greatest + d.duration > LIMIT or not extent_fits(d, least, greatest, cti, now):
            return None
        return External(str(path), form, rows, least, greatest)


def read_file(path: Path, declaration: Declaration) -> tuple[pl.DataFrame, list[Rejected]]:
    """All rows of one file."""
    form = _format(path, None)
    try:
        if form in COLUMNAR:
            return conform(COLUMNAR[form].read(path), declaration, path.name)
        with path.open("rb") as file:
            header = _without_mark(file.readline()) if TEXT[form].header else b""
            data = file.read()
        first = 2 if TEXT[form].header else 1
        return TEXT[form].parse(Block(_without_mark(data), path.name, path, first, header), declaration)
    except (OSError, pl.exceptions.PolarsError, pa.ArrowException) as error:
        raise _unreadable(path, error) from error


def _format(path: Path, given: str | None) -> str:
    form = given or SUFFIXES.get(path.suffix.lower())
    if form is None:
        how = "files(..., format='jsonl') (in SQL: format => 'jsonl')"
        reason = f"its format does not follow from {path.suffix!r}; name it: {how}"
        raise DataError("DATA.UNREADABLE", path=path, reason=reason)
    return form


@dataclass(frozen=True)
class Lines:
    """Where the rows of a block stand, found when it is asked for; rejected rows are not counted."""

    form: Text
    block: Block
    rejected: Sequence[Rejected]

    def __call__(self, row: int) -> str:
        return self._places[row]

    @cached_property
    def _places(self) -> list[str]:
        bad = {one.where for one in self.rejected}
        places = (f"{self.block.where} line {number}" for number in self.form.lines(self.block))
        return [place for place in places if place not in bad]


def _unreadable(path: Path, error: Exception) -> DataError:
    reason = getattr(error, "strerror", None) or str(error).split("\n")[0].rstrip(".")
    return DataError("DATA.UNREADABLE", path=path, reason=reason)


def _digest(names: set[str] | list[str]) -> int:
    """Of a set of names, in any order."""
    hashes = (blake2b(os.fsencode(name), digest_size=8).digest() for name in names)
    return sum(int.from_bytes(each, "big") for each in hashes) % 2**64


def _without_mark(data: bytes) -> bytes:
    """Without the byte order mark that some programs write first."""
    return data.removeprefix(b"\xef\xbb\xbf")
