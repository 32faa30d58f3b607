"""From text to trees: a small parser over sqlglot's tokens, so that every error can say what was expected."""

from waterclock.lang.sql.parse.statements import parse

__all__ = ["parse"]
