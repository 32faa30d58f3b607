"""A condition on the rows of one stream, given by itself."""

from __future__ import annotations

from waterclock.errors import SqlError
from waterclock.expr import Expr
from waterclock.lang.sql.given import Given
from waterclock.lang.sql.source import Source, Span
from waterclock.plan import Filter, Input
from waterclock.schema import Schema


def predicate(text: str, stream: str, schema: Schema) -> Expr:
    """What WHERE would make of it. Errors show it as part of a query."""
    from waterclock.lang.sql import tree  # few vertices have filters, and all import this
    from waterclock.lang.sql.bind import Context, bind_query
    from waterclock.lang.sql.parse import parse

    before = f"SELECT * FROM `{stream}` WHERE "
    source = Source(before + text, "<filter>")
    parsed = parse(source)
    if parsed.errors:
        raise parsed.errors[0]
    rows = Input(stream, schema, of_points=False)
    only = parsed.statements[0] if len(parsed.statements) == 1 else None
    if isinstance(only, tree.Define):
        plan = bind_query(Context(source, {stream: Given(rows)}, {}), only.query)
        if isinstance(plan, Filter) and plan.input == rows:
            return plan.predicate
    raise _no_condition(source, len(before))


def _no_condition(source: Source, start: int) -> SqlError:
    fix = "Write a condition on its columns, such as: user = 'bob' AND n > 5."
    return source.error("SQL.UNSUPPORTED", Span(start, len(source.text)), what="Anything but a condition", fix=fix)
