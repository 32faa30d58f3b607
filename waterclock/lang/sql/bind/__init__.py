"""From trees to plans: names, types, and the nodes that the fluent API builds too."""

from waterclock.lang.sql.bind.context import Context
from waterclock.lang.sql.bind.queries import bind_query

__all__ = ["Context", "bind_query"]
