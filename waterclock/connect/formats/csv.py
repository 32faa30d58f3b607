"""CSV with a header line in every file. Values are written as a person would; an empty field is null."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from waterclock.connect.formats.block import Block
from waterclock.connect.rows import check_names, conform
from waterclock.errors import DataError
from waterclock.streams import Declaration, Rejected


def parse(block: Block, declaration: Declaration) -> tuple[pl.DataFrame, list[Rejected]]:
    names = _header(block)
    check_names(names, declaration, block.where)
    if not block.data.strip():
        return pl.DataFrame(schema=declaration.schema.polars()), []
    frame = _at_once(block.data, names)
    if frame is not None:
        rows, rejected = conform(frame, declaration, block.where, text=True)
        if not rejected:
            return rows, []
    return _by_line(block, names, declaration)


def cut(data: bytes) -> int:
    """The end of the last whole row: a line end outside quotes. Without one, the last line end; 0 if there is none."""
    quotes = data.count(b'"')
    at = end = data.rfind(b"\n") + 1
    quotes -= data.count(b'"', at)
    while at and quotes % 2:
        before = data.rfind(b"\n", 0, at - 1) + 1
        quotes -= data.count(b'"', before, at)
        at = before
    return at or end


def _header(block: Block) -> list[str]:
    try:
        names = next(csv.reader([block.header.decode().rstrip("\r\n")], strict=True), [])
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError("DATA.UNREADABLE", path=block.path, reason=f"its header is malformed ({error})") from None
    twice = [name for name in names if names.count(name) > 1]
    if not names or twice:
        reason = f"its header has the column {twice[0]!r} twice" if twice else "it has no header line"
        raise DataError("DATA.UNREADABLE", path=block.path, reason=reason)
    return names


def _at_once(data: bytes, names: list[str]) -> pl.DataFrame | None:
    """All rows as text, or None if they are not all of the same shape."""
    if data.count(b"\r") != data.count(b"\r\n"):
        return None  # Polars would drop the odd ones
    try:
        frame = pl.read_csv(data, has_header=False, schema={name: pl.String() for name in names})
    except pl.exceptions.PolarsError:
        return None
    if frame[names[-1]].null_count():
        # Polars fills short lines and blank ones with nulls.
        commas = frame.height * (len(names) - 1)
        if len(names) == 1 or b'"' in data or data.count(b",") != commas:
            return None
    return frame.select(pl.when(pl.col(name) != "").then(pl.col(name)).alias(name) for name in names)


def lines(block: Block) -> Iterator[int]:
    """The numbers of the lines that rows begin on, good and bad ones."""
    return (record.line for record in _records(block))


class _Record(NamedTuple):
    line: int
    text: str
    fields: list[str]
    problem: str


def _records(block: Block) -> Iterator[_Record]:
    """Rows as they are written, which may go over several lines; blank ones are passed over."""
    lines = [line + "\n" for line in block.data.decode(errors="surrogateescape").split("\n")]
    reader = csv.reader(lines, strict=True)
    before = 0
    while True:
        problem = ""
        fields: list[str] = []
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problem = f"not CSV: {error}"
        number, text = block.line + before, "".join(lines[before : reader.line_num]).rstrip("\r\n")
        before = reader.line_num
        if fields or problem:
            yield _Record(number, text, fields, problem)


def _by_line(block: Block, names: list[str], declaration: Declaration) -> tuple[pl.DataFrame, list[Rejected]]:
    rows: list[list[str | None]] = []
    numbers: list[int] = []
    rejected: list[Rejected] = []
    for number, text, fields, problem in _records(block):
        reason = problem
        if not reason and len(fields) != len(names):
            reason = f"{len(fields)} fields where the header has {len(names)}"
        if not reason and not text.isascii() and not _is_utf8(text):
            reason = "the line is not UTF-8"
        if reason:
            at = f"{block.where} line {number}"
            malformed = DataError("DATA.MALFORMED", where=at, reason=reason)
            shown = text.encode(errors="surrogateescape").decode(errors="replace")
            rejected.append(Rejected(at, malformed.message, shown, malformed))
        else:
            rows.append([field or None for field in fields])
            numbers.append(number)
    frame = pl.DataFrame(rows, schema={name: pl.String() for name in names}, orient="row")
    good, wrong = conform(frame, declaration, block.where, numbers, text=True)
    return good, sorted([*rejected, *wrong], key=lambda r: int(r.where.rsplit(" ", 1)[1]))


def _is_utf8(text: str) -> bool:
    return not any("\udc80" <= character <= "\udcff" for character in text)
