"""From trees to plans: names, types, and the nodes that the fluent API builds too."""

from waterclock.lang.sql.bind.context import Context, Given
from waterclock.lang.sql.bind.queries import bind_query

__all__ = ["Context", "Given", "bind_query"]
