"""A place in the list of tokens, and the few moves that parsers are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from sqlglot.tokenizer_core import Token, TokenType

from waterclock.errors import SqlError
from waterclock.lang.sql import tree
from waterclock.lang.sql.dialect import span_of
from waterclock.lang.sql.durations import CALENDAR, UNITS
from waterclock.lang.sql.source import Source, Span

DEEPEST = 60
"""How deep parentheses, CASE and sub-queries may be nested."""
RESERVED = frozenset(
    "ALL AND ANTI AS ASOF BETWEEN BY CASE CLIP CREATE CROSS DISTINCT ELSE EMIT EXCEPT FALSE FROM FULL GROUP HAVING IN "
    "INNER INTERSECT IS JOIN LEFT LIKE LIMIT NATURAL NOT NULL ON OR ORDER OUTPUT QUALIFY RIGHT SELECT SEMI SET THEN "
    "TRUE UNION USING WHEN WHERE WINDOW WITH WITHIN".split()
)
"""Words that are names only in backticks."""

T = TypeVar("T")


class Cursor:
    def __init__(self, source: Source, tokens: Sequence[Token]) -> None:
        self.source = source
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self.keywords: set[int] = set()
        """Where the words begin that were read as keywords, not as names."""

    # -- looking -------------------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        return self._at >= len(self._tokens)

    def peek(self, ahead: int = 0) -> Token | None:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else None

    def word(self, ahead: int = 0) -> str:
        """The word at hand in capitals, empty if there is none."""
        token = self.peek(ahead)
        return token.text.upper() if token is not None and token.token_type == TokenType.VAR else ""

    def sees(self, *words: str) -> bool:
        return all(self.word(ahead) == word for ahead, word in enumerate(words))

    def sees_mark(self, kind: TokenType, ahead: int = 0) -> bool:
        token = self.peek(ahead)
        return token is not None and token.token_type == kind

    @property
    def here(self) -> Span:
        """The token at hand; at the end, the place behind the last one."""
        token = self.peek()
        if token is not None:
            return span_of(token)
        end = span_of(self._tokens[-1]).end if self._tokens else 0
        return Span(end, end + 1)

    @property
    def before(self) -> Span:
        """The token that was taken last."""
        return span_of(self._tokens[max(0, self._at - 1)]) if self._tokens else Span(0, 1)

    def since(self, start: Span) -> Span:
        return start.to(self.before)

    # -- taking --------------------------------------------------------------------------------------------

    def take(self) -> Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def keyword(self) -> tree.Word:
        """The word at hand, as a keyword."""
        self.keywords.add(self.here.start)
        return tree.Word(self.take().text.upper(), span=self.before)

    def accept(self, *words: str) -> bool:
        if not self.sees(*words):
            return False
        for _ in words:
            self.keyword()
        return True

    def accept_mark(self, kind: TokenType) -> bool:
        if not self.sees_mark(kind):
            return False
        self._at += 1
        return True

    def expect(self, *words: str, fix: str = "") -> Span:
        start = self.here
        for word in words:
            if not self.accept(word):
                raise self.wrong(word, fix)
        return self.since(start)

    def expect_mark(self, kind: TokenType, sign: str, fix: str = "") -> Span:
        if not self.accept_mark(kind):
            raise self.wrong(f"{sign!r}", fix)
        return self.before

    def name(self, what: str, fix: str = "") -> tree.Word:
        """A name, perhaps in backticks."""
        token = self.peek()
        if token is not None and token.token_type == TokenType.IDENTIFIER:
            self.take()
            return tree.Word(token.text, span=span_of(token))
        word = self.word()
        if not word:
            raise self.wrong(what, fix)
        if word in RESERVED:
            raise self.error("SQL.RESERVED", self.here, what=what, word=word)
        return tree.Word(self.take().text, span=self.before)

    def sees_name(self) -> bool:
        return self.sees_mark(TokenType.IDENTIFIER) or (bool(self.word()) and self.word() not in RESERVED)

    def listed(self, one: Callable[[], T]) -> tuple[T, ...]:
        """One or more, with commas between them."""
        found = [one()]
        while self.accept_mark(TokenType.COMMA):
            found.append(one())
        return tuple(found)

    def parenthesised(self, one: Callable[[], T], empty: bool = False) -> tuple[T, ...]:
        opened = self.expect_mark(TokenType.L_PAREN, "(")
        if empty and self.accept_mark(TokenType.R_PAREN):
            return ()
        found = self.listed(one)
        self.close(opened)
        return found

    def close(self, opened: Span) -> None:
        if not self.accept_mark(TokenType.R_PAREN):
            if self.done or self.word() in RESERVED:
                raise self.error("SQL.UNCLOSED", opened, what="parenthesis", closing=")")
            if self._after_number() and self.word():
                raise self._no_duration()
            raise self.wrong("',' or ')'")

    @contextmanager
    def deeper(self) -> Iterator[None]:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self.error("SQL.TOO_DEEP", self.here)
        try:
            yield
        finally:
            self._depth -= 1

    # -- saying what is wrong ------------------------------------------------------------------------------

    def wrong(self, expected: str, fix: str = "") -> SqlError:
        if self._after_number() and (self.word().lower() in UNITS or self._calendar()):
            return self._no_duration()
        return self.error("SQL.SYNTAX", self.here, expected=expected, found=self.found(), fix=fix)

    def _after_number(self) -> bool:
        return self._at > 0 and self._tokens[self._at - 1].token_type == TokenType.NUMBER

    def _calendar(self) -> bool:
        return self.word().lower().rstrip("s") in CALENDAR

    def _no_duration(self) -> SqlError:
        """The number before and the word at hand: ``5 parsecs``, ``5 sec``, ``1 MONTH``."""
        span = self.before.to(self.here)
        if self._calendar():
            return self.error("SQL.CALENDAR", span, unit=self.word().rstrip("S"))
        return self.error("SQL.BAD_DURATION", span, text=self.source.slice(span))

    def found(self) -> str:
        token = self.peek()
        return "the end of the statement" if token is None else f"{self.source.slice(span_of(token))}"

    def error(self, code: str, span: Span, **values: object) -> SqlError:
        return self.source.error(code, span, **values)

    def unsupported(self, span: Span, what: str, fix: str) -> SqlError:
        return self.error("SQL.UNSUPPORTED", span, what=what, fix=fix)
