"""Events as a table of text. What its cells mean follows from the stream or output that it is for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from waterclock.errors import ConfigError, did_you_mean

MARK = "!"
MARKS = ("crash", "advance")


@dataclass(frozen=True)
class Cell:
    """``at`` is where it starts in its line."""

    text: str
    line: int
    at: int
    quoted: bool = False

    @property
    def null(self) -> bool:
        return not self.quoted and self.text in ("", "null")


@dataclass(frozen=True)
class Mark:
    """A line such as ``!crash epoch.before_commit``: something that happens between two rows."""

    word: str
    argument: str
    cell: Cell


class Table:
    """A line of names, then a line for each row, cells between ``|``.

    Empty lines, lines that start with ``#``, and rulers such as ``---|---`` do not count. ``place`` names the table in
    errors, ``first`` is the number of its first line.
    """

    def __init__(self, text: str, place: str = "the table", first: int = 1) -> None:
        self.place = place
        self.header: list[Cell] = []
        self.rows: list[list[Cell] | Mark] = []
        self._lines = dict(enumerate(text.splitlines(), first))
        bordered = False
        for number, line in self._lines.items():
            bare = line.strip()
            if not bare or bare.startswith("#") or re.fullmatch(r"[-+|:=\s]*--[-+|:=\s]*", bare):
                continue
            if bare.startswith(MARK):
                self.rows.append(self._mark(bare, number))
                continue
            bordered = bordered if self.header else bare.startswith("|") and bare.endswith("|")
            cells = self._cells(line, number, bordered)
            if not self.header:
                self._head(cells)
            elif len(cells) == len(self.header):
                self.rows.append(cells)
            else:
                what = f"it has {len(cells)} cells, and the line of names has {len(self.header)}"
                fix = "Put | between cells; an empty cell is null, a text with | in it is quoted."
                raise self.wrong(cells[-1], what, fix)

    def wrong(self, cell: Cell, what: str, fix: str) -> ConfigError:
        """An error that shows the cell."""
        line = self._lines[cell.line]
        width = max(1, len(line[cell.at :].split("|")[0].rstrip())) if not cell.quoted else len(json.dumps(cell.text))
        shown = f"  {line.rstrip()}\n  {' ' * cell.at}{'^' * width}"
        return ConfigError("TEST.BAD_TABLE", place=self.place, line=cell.line, what=what, shown=shown, fix=fix)

    def name_of(self, cell: Cell) -> str:
        """The column that a cell is in."""
        row = next(row for row in self.rows if not isinstance(row, Mark) and cell in row)
        return self.header[row.index(cell)].text

    def _head(self, cells: list[Cell]) -> None:
        self.header = cells
        for number, cell in enumerate(cells):
            if not cell.text:
                raise self.wrong(cell, "a column has no name", "Start with a line of names: user | amount | from | to.")
            if cell.text in [other.text for other in cells[:number]]:
                raise self.wrong(cell, f"the column {cell.text!r} is there twice", "Give each column its own name.")

    def _mark(self, bare: str, number: int) -> Mark:
        word, _, argument = bare[1:].partition(" ")
        cell = Cell(bare, number, self._lines[number].index(bare))
        if word not in MARKS:
            guess = did_you_mean(word, list(MARKS))
            fix = f"Between rows there can be !crash, !crash PLACE and !advance TIME; a text with ! is quoted.{guess}"
            raise self.wrong(cell, f"there is no !{word}", fix)
        return Mark(word, argument.strip(), cell)

    def _cells(self, line: str, number: int, bordered: bool) -> list[Cell]:
        spans = list(_spans(line))
        if bordered:
            spans = spans[1:-1]
        return [self._cell(line, number, start, end) for start, end in spans]

    def _cell(self, line: str, number: int, start: int, end: int) -> Cell:
        text = line[start:end].strip()
        at = start + len(line[start:end]) - len(line[start:end].lstrip()) if text else min(start + 1, end)
        if not text.startswith('"'):
            return Cell(text, number, at)
        try:
            return Cell(json.loads(text), number, at, quoted=True)
        except ValueError:
            fix = 'Write a quoted text as in JSON: "it is 5 | 6", with \\" for a quote in it.'
            raise self.wrong(Cell(text, number, at), f"{text} is not a quoted text", fix) from None


def _spans(line: str) -> Iterator[tuple[int, int]]:
    """Where the cells of a line are; a | within quotes is part of a text or of JSON."""
    start, at, quoted = 0, 0, False
    while at < len(line):
        sign = line[at]
        if sign == '"' and (quoted or line[start:at].strip()[:1] in ("", "[", "{", '"')):
            quoted = not quoted
        elif sign == "\\" and quoted:
            at += 1
        elif sign == "|" and not quoted:
            yield start, at
            start = at + 1
        at += 1
    yield start, len(line)


def shown(text: str) -> str:
    """A text as a cell that is read back as the same text."""
    plain = text == text.strip() and text not in ("", "null") and not re.search(r'["|\n\\]|^[-+:=]+$', text)
    return text if plain and text[0] not in (MARK, "#", "[", "{") else json.dumps(text, ensure_ascii=False)


def laid_out(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with the cells of each column below each other."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return [" | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def plain(value: Any) -> Any:
    """JSON of what Python holds."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value if isinstance(value, int | float | str | None) else str(value)
