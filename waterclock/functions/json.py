"""JSON in strings.

Written by scripts/functions.py from the table in waterclock/expr/functions.
"""

from __future__ import annotations

from waterclock.expr.nodes import Expr, call


def get_json_object(text: object, path: str) -> Expr:
    """What a path such as $.a.b[0] leads to; null if there is nothing, or no JSON.

    Example: ``get_json_object('{"a":{"b":[7]}}', '$.a.b[0]') = '7'``
    """
    return call("get_json_object", text, path)


def to_json(value: object) -> Expr:
    """A struct or an array as JSON; fields that are null are left out.

    Example: ``to_json(named_struct('a', 1, 'b', 'x')) = '{"a":1,"b":"x"}'``
    """
    return call("to_json", value)
