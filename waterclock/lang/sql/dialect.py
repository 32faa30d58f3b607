"""The words of the language: a sqlglot dialect whose tokenizer leaves keywords to the parser.

Every word is a VAR, so that a column may be called ``start`` or ``session``; the place tells the parser what it is.
"""

from __future__ import annotations

from sqlglot import tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from waterclock.lang.sql.source import Source, Span


class Waterclock(Dialect):
    class Tokenizer(tokens.Tokenizer):
        QUOTES = ["'"]  # noqa: RUF012
        STRING_ESCAPES = ["'", "\\"]  # noqa: RUF012
        IDENTIFIERS = ["`", '"']  # noqa: RUF012
        COMMENTS = ["--", ("/*", "*/")]  # noqa: RUF012
        NESTED_COMMENTS = False
        KEYWORDS = {  # noqa: RUF012
            "==": TokenType.EQ,
            "<=>": TokenType.NULLSAFE_EQ,
            "<>": TokenType.NEQ,
            "!=": TokenType.NEQ,
            "<=": TokenType.LTE,
            ">=": TokenType.GTE,
            "=>": TokenType.FARROW,
            "->": TokenType.ARROW,
            "::": TokenType.DCOLON,
            "||": TokenType.DPIPE,
            "&&": TokenType.DAMP,
        }


def tokenize(source: Source) -> list[Token]:
    try:
        found = Waterclock().tokenize(source.text)
    except TokenError:
        raise _unclosed(source) from None
    except Exception:  # whatever else the tokenizer stumbles over is a text that it does not know
        raise source.error("SQL.SYNTAX", Span(0, 1), expected="a program", found="unreadable text", fix="") from None
    for token in found:
        if token.token_type == TokenType.IDENTIFIER and source.text[token.start] == '"':
            raise source.error("SQL.DOUBLE_QUOTES", span_of(token), text=token.text)
    return found


def span_of(token: Token) -> Span:
    return Span(token.start, token.end + 1)


def _unclosed(source: Source) -> Exception:
    """Which quote or comment was opened and not closed: found by reading the text once more, character by character."""
    text, at = source.text, 0
    while at < len(text):
        for opening, closing, what in _PAIRS:
            if text.startswith(opening, at):
                end = _closing(text, at + len(opening), closing)
                if end is None and closing != "\n":
                    return source.error("SQL.UNCLOSED", Span(at, at + len(opening)), what=what, closing=closing)
                at = len(text) if end is None else end
                break
        else:
            at += 1
    return source.error("SQL.SYNTAX", Span(0, 1), expected="a program", found="unreadable text", fix="")


_PAIRS = (
    ("--", "\n", "comment"),
    ("/*", "*/", "comment"),
    ("'", "'", "text"),
    ("`", "`", "name"),
    ('"', '"', "name"),
)


def _closing(text: str, at: int, closing: str) -> int | None:
    while at < len(text):
        if closing == "'" and text[at] == "\\":
            at += 2
        elif text.startswith(closing, at):
            return at + len(closing)
        else:
            at += 1
    return None
