"""One way to lay a program out: a clause a line, keywords in capitals, comments where they were."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from enum import Enum

from sqlglot.tokenizer_core import Token, TokenType

from waterclock.lang.sql.dialect import tokenize
from waterclock.lang.sql.parse import parse
from waterclock.lang.sql.source import Source

WIDTH = 100
INDENT = "  "
ROUNDS = 8
"""A comment that came to another place may count as alone there: laid out again, until nothing changes."""
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_JOIN = frozenset("INNER LEFT FULL CROSS CLIP ASOF SEMI ANTI OUTER JOIN".split())
_QUERY = frozenset("SELECT FROM WHERE GROUP WITH HAVING ORDER LIMIT UNION EMIT".split()) | {"ON ERROR"}
_STREAM = frozenset("LIFETIME POINT WATERMARK IDLE LATE BAD AHEAD MAX RETAIN FROM AS".split())
_STAYS = {("DISTINCT", "FROM"), ("WATERMARK", "FROM"), ("WITHIN", "GROUP"), ("MAX", "AHEAD"), ("UNION", "SELECT"),
          ("SKIP", "LIMIT"), ("LETTER", "LIMIT"), ("FAIL", "LIMIT")}  # fmt: skip
"""Pairs of words that are not torn apart."""
_HEADS = frozenset("SELECT DISTINCT GROUP ORDER BY WITH AS VALUES".split())
_CALLED = frozenset("TUMBLING HOPPING SLIDING SESSION COUNT SNAPSHOT CAST TRY_CAST".split())
_TOUCH_BEFORE = frozenset({")", ",", ";", ".", "::"})
_TOUCH_AFTER = frozenset({"(", ".", "::", ":"})
_SIGNS = frozenset({TokenType.DASH, TokenType.PLUS})


class Comment(Enum):
    NONE = 0
    INLINE = 1
    """In a line with others."""
    TRAILING = 2
    """Behind something, up to the end of the line."""
    ALONE = 3
    """On lines of its own."""


@dataclass(frozen=True)
class Piece:
    text: str
    keyword: bool = False
    comment: Comment = Comment.NONE
    space: bool = True
    """Whether there is a space before it, if something stands before it in its line."""
    blank: bool = False
    """Whether a comment has an empty line behind it."""

    @property
    def ends_line(self) -> bool:
        return self.comment in (Comment.TRAILING, Comment.ALONE)


def formatted(source: Source) -> str:
    """The program in its layout; raises the first error of one that cannot be read."""
    before, text = source.text, _formatted(source)
    for _ in range(ROUNDS):
        if text == before:
            break
        before, text = text, _formatted(Source(text, source.name))
    return text


def _formatted(source: Source) -> str:
    parsed = parse(source)
    if parsed.errors:
        raise parsed.errors[0]
    statements = _statements(_pieces(source, tokenize(source), parsed.keywords))
    text, before = "", ""
    for pieces in statements:
        word = _first_word(pieces)
        if text:
            text += "\n" if word == before and word in ("SET", "OUTPUT") else "\n\n"
        text, before = text + "\n".join(_statement(pieces)), word
    return text + "\n" if text else ""


# -- pieces ------------------------------------------------------------------------------------------------


def _pieces(source: Source, tokens: list[Token], keywords: set[int]) -> list[Piece]:
    found: list[Piece] = []
    before: Token | None = None
    end, depth = 0, 0  # the depth of ARRAY<...>
    for token in tokens:
        gap = source.text[end : token.start]
        found += _comments(gap, before)
        text = source.text[token.start : token.end + 1]
        keyword = token.start in keywords
        space = _space(before, token, gap, before is not None and before.start in keywords, depth)
        if before is not None and before.text.upper() == "ARRAY" and text == "<":
            depth += 1
        elif depth and text == ">":
            depth -= 1
        found.append(Piece(text.upper() if keyword else text, keyword, Comment.NONE, space))
        end, before = token.end + 1, token
    return found + _comments(source.text[end:], before)


def _comments(gap: str, before: Token | None) -> list[Piece]:
    """The comments between two tokens; between statements none is inline, so that it belongs to one of them."""
    found: list[Piece] = []
    between = before is None or _is(before, ";")
    for match in _COMMENT.finditer(gap):
        starts_line = before is None or "\n" in gap[: match.start()]
        if between or match.group().startswith("--") or "\n" in gap[match.end() :] or "\n" in match.group():
            kind = Comment.ALONE if starts_line else Comment.TRAILING
        else:
            kind = Comment.INLINE
        blank = bool(re.match(r"[^\S\n]*\n[^\S\n]*\n", gap[match.end() :]))
        text = match.group().rstrip()
        if kind == Comment.TRAILING and found and found[-1].comment == Comment.TRAILING:
            text = f"{found.pop().text} {text}"  # both stay in the line
        found.append(Piece(text, comment=kind, blank=blank))
    return found


def _space(before: Token | None, token: Token, gap: str, after_keyword: bool, depth: int) -> bool:
    if before is None:
        return False
    one, other = before.text, token.text
    if token.token_type == TokenType.STRING or before.token_type == TokenType.STRING:
        return not (_is(before, *_TOUCH_AFTER) or _is(token, *_TOUCH_BEFORE))
    if _is(token, *_TOUCH_BEFORE) or _is(before, *_TOUCH_AFTER):
        return False
    if depth or (one.upper() == "ARRAY" and other == "<"):
        return False
    if before.token_type == TokenType.NUMBER and token.token_type == TokenType.VAR:
        return bool(gap)
    if other == "(":
        called = before.token_type in (TokenType.VAR, TokenType.IDENTIFIER) and not after_keyword
        return not (called or one.upper() in _CALLED)
    if before.token_type in _SIGNS:
        return bool(gap)
    return True


def _is(token: Token, *texts: str) -> bool:
    return token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER) and token.text in texts


# -- statements --------------------------------------------------------------------------------------------


def _statements(pieces: list[Piece]) -> list[list[Piece]]:
    """The pieces of each statement; a comment behind the semicolon still belongs to it."""
    found: list[list[Piece]] = [[]]
    closed = False
    for piece in pieces:
        if closed and piece.comment != Comment.TRAILING:
            found.append([])
            closed = False
        at = len(found[-1])
        while piece.text == ";" and at and found[-1][at - 1].comment == Comment.TRAILING:
            at -= 1  # the semicolon goes before what stands behind the last clause
        found[-1].insert(at, piece)
        closed = closed or piece.text == ";"
    return [part for part in found if part and any(piece.text != ";" for piece in part)]


def _first_word(pieces: list[Piece]) -> str:
    return next((piece.text for piece in pieces if piece.comment == Comment.NONE), "")


def _statement(pieces: list[Piece]) -> list[str]:
    lines: list[str] = []
    at = 0
    while at < len(pieces) and pieces[at].comment == Comment.ALONE:
        lines += [pieces[at].text, ""] if pieces[at].blank and at + 1 < len(pieces) else [pieces[at].text]
        at += 1
    body = pieces[at:]
    if not body:
        return lines
    if body[0].text == "CREATE" and len(body) > 1 and body[1].text in ("STREAM", "TABLE"):
        opening = next((n for n, piece in enumerate(body) if piece.text == "("), None)
        if opening is not None:
            body[opening] = Piece("(", space=True)
        return lines + _laid_out(body, "", _STREAM, hanging=INDENT)
    if len(body) > 1 and body[1].text == "=":
        return [*lines, *_laid_out(body[:2], "", frozenset()), *_laid_out(body[2:], "", _QUERY)]
    return lines + _laid_out(body, "", _QUERY)


def _laid_out(pieces: list[Piece], indent: str, breaks: frozenset[str], hanging: str = "") -> list[str]:
    """Lines of pieces, each clause on its own; the first without, the others with the hanging indent."""
    lines: list[str] = []
    for number, clause in enumerate(_clauses(pieces, breaks)):
        lines += _line(clause, indent + (hanging if number else ""))
    return lines


def _clauses(pieces: list[Piece], breaks: frozenset[str]) -> list[list[Piece]]:
    found: list[list[Piece]] = [[]]
    depth = 0
    before = ""
    for number, piece in enumerate(pieces):
        word = piece.text if piece.keyword else ""
        if word == "ON" and any(each.keyword and each.text == "ERROR" for each in pieces[number + 1 : number + 2]):
            word = "ON ERROR"
        starts = depth == 0 and bool(found[-1]) and word and _starts(before, word, found[-1][0].text, pieces, breaks)
        if starts or (depth == 0 and piece.comment == Comment.ALONE and bool(found[-1])):
            found.append([])
        found[-1].append(piece)
        depth += (piece.text == "(") - (piece.text == ")")
        if piece.comment == Comment.NONE:
            before = piece.text if piece.keyword else ""
    return found


def _starts(before: str, word: str, line: str, pieces: list[Piece], breaks: frozenset[str]) -> bool:
    if (before, word) in _STAYS or (word == "IDLE" and line == "WATERMARK"):
        return False
    if word == "WITH" and before == "" and line == "LIMIT":
        return False
    if breaks is _QUERY and word in _JOIN:
        return before not in _JOIN
    if word == "AS":
        return breaks is _STREAM and pieces[1].text == "TABLE"
    if word == "SELECT" and before == "ALL" and line == "UNION":
        return True
    return word in breaks


def _line(pieces: list[Piece], indent: str) -> list[str]:
    """One clause: in one line if it fits, else with its lists and parentheses opened."""
    if pieces[0].comment == Comment.ALONE:
        rest = _line(pieces[1:], indent) if len(pieces) > 1 else []
        return [indent + pieces[0].text, *rest]
    text = _joined(pieces)
    if not any(piece.ends_line for piece in pieces[:-1]) and len(indent) + len(text) <= WIDTH:
        return [indent + text]
    items = _items(pieces)
    if len(items) > 1:
        head = _head(items[0])
        lines = [indent + _joined(items[0][:head])] if head else []
        inner = indent + INDENT if head else indent
        return lines + [line for item in (items[0][head:], *items[1:]) if item for line in _line(item, inner)]
    opened = _opened(pieces)
    cut = _cut(pieces, indent)
    case = _case(pieces)
    if case is not None and (
        any(len(line) > WIDTH for line in cut) or any(piece.ends_line for piece in pieces[case[0] : case[-1]])
    ):
        return _case_lines(pieces, case, indent)
    if opened is None:
        return cut
    start, end = opened
    if len(cut) > 1 and not any(piece.text == "SELECT" or piece.ends_line for piece in pieces[start:end]):
        return cut
    lines = _line(pieces[: start + 1], indent)
    lines += _laid_out(pieces[start + 1 : end], indent + INDENT, _QUERY)
    return lines + _line([Piece(")", space=False), *pieces[end + 1 :]], indent)


def _joined(pieces: list[Piece]) -> str:
    text = ""
    for piece in pieces:
        text += (" " if text and (piece.space or piece.comment != Comment.NONE) else "") + piece.text
    return text


def _items(pieces: list[Piece]) -> list[list[Piece]]:
    """The parts between commas outside of parentheses, each with its comma and the comment behind it."""
    found: list[list[Piece]] = [[]]
    depth, closed = 0, False
    for piece in pieces:
        if closed and piece.comment != Comment.TRAILING:
            found.append([])
            closed = False
        found[-1].append(piece)
        depth += (piece.text == "(") - (piece.text == ")")
        closed = closed or (depth == 0 and piece.text == ",")
    return found


def _head(pieces: list[Piece]) -> int:
    """How many keywords stand before the first item: SELECT DISTINCT, GROUP BY, AS VALUES."""
    count = 0
    while count < len(pieces) and pieces[count].keyword and pieces[count].text in _HEADS:
        count += 1
    return count


def _opened(pieces: list[Piece]) -> tuple[int, int] | None:
    """The longest pair of parentheses that has something in it."""
    stack: list[int] = []
    best: tuple[int, int] | None = None
    for number, piece in enumerate(pieces):
        if piece.text == "(":
            stack.append(number)
        elif piece.text == ")" and stack:
            start = stack.pop()
            if not stack and number - start > 1 and (best is None or number - start > best[1] - best[0]):
                best = (start, number)
    return best


def _case(pieces: list[Piece]) -> list[int] | None:
    """Where the first CASE outside of parentheses stands, its WHENs, its ELSE and its END."""
    places: list[int] = []
    depth = cases = 0
    for number, piece in enumerate(pieces):
        depth += (piece.text == "(") - (piece.text == ")")
        if depth or not piece.keyword:
            continue
        cases += piece.text == "CASE"
        if cases == 1 and piece.text in ("CASE", "WHEN", "ELSE", "END"):
            places.append(number)
        cases -= cases > 0 and piece.text == "END"
        if places and not cases:
            return places
    return None


def _case_lines(pieces: list[Piece], case: list[int], indent: str) -> list[str]:
    """Each WHEN, ELSE and END of a CASE on a line of its own."""
    head = _head(pieces)
    if head:
        return [indent + _joined(pieces[:head]), *_line(pieces[head:], indent + INDENT)]
    lines = _line(pieces[: case[1]], indent)
    for start, end in itertools.pairwise(case[1:]):
        lines += _line(pieces[start:end], indent + INDENT)
    return lines + _line(pieces[case[-1] :], indent)


def _cut(pieces: list[Piece], indent: str) -> list[str]:
    """Cut behind comments, and before an AND or OR outside of parentheses and CASE where a line gets long."""
    lines: list[list[Piece]] = [[]]
    depth, between = 0, False
    for piece in pieces:
        full = len(indent) + len(_joined(lines[-1])) > WIDTH * 2 // 3
        joins = depth == 0 and piece.keyword and (piece.text == "OR" or (piece.text == "AND" and not between))
        after_comment = bool(lines[-1]) and lines[-1][-1].ends_line
        if lines[-1] and (after_comment or piece.comment == Comment.ALONE or (full and joins)):
            lines.append([])
        lines[-1].append(piece)
        depth += (piece.text == "(") - (piece.text == ")")
        if piece.keyword:
            depth += (piece.text == "CASE") - (piece.text == "END" and depth > 0)
        if depth == 0 and piece.keyword and piece.text in ("AND", "BETWEEN"):
            between = piece.text == "BETWEEN"
    return [(indent if number == 0 else indent + INDENT) + _joined(line) for number, line in enumerate(lines)]
