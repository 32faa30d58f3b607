"""The statements of a program as the parser saw them."""

from __future__ import annotations

from collections.abc import Iterator

from waterclock.lang.sql import tree
from waterclock.lang.sql.parse import parse
from waterclock.lang.sql.source import Source
from waterclock.time import show_duration

_SIGNS = {"ge": ">=", "le": "<=", "and": "AND", "eq": "=", "same": "<=>"}
_REWRITTEN = ("BETWEEN", "CASE", "IS", "IS DISTINCT FROM")
"""What the parser tells by other operators; then those are shown."""


def parsed(source: Source) -> list[str]:
    lines: list[str] = []
    for statement in parse(source).statements:
        line = source.line_of(statement.span.start)
        first, *rest = _statement(statement)
        lines += [f"line {line}: {first}", *(f"  {each}" for each in rest), ""]
    return lines[:-1]


# -- statements --------------------------------------------------------------------------------------------


def _statement(node: tree.Statement) -> Iterator[str]:
    if isinstance(node, tree.CreateStream | tree.CreateTable):
        kind = "stream" if isinstance(node, tree.CreateStream) else "table"
        yield f"create {kind} {node.name.text}"
        yield from (f"column {column.name.text}: {column.type.text}" for column in node.columns)
        if isinstance(node, tree.CreateStream):
            yield from map(_clause, node.clauses)
        elif node.rows is not None:
            yield from (f"row ({_list(row)})" for row in node.rows)
        if node.source is not None:
            yield f"from {_end(node.source)}"
    elif isinstance(node, tree.Define):
        yield "a query without a name" if node.name is None else f"define {node.name.text}"
        yield from _query(node.query)
    elif isinstance(node, tree.Output):
        yield f"output {node.query.text}{f' as {node.name.text}' if node.name else ''}"
        if node.sink is not None:
            yield f"to {_end(node.sink)}"
        if node.recovery is not None:
            yield f"recovery {_end(node.recovery)}"
    else:
        yield f"set {node.option.text} = {shown(node.value)}"


def _clause(node: tree.Clause) -> str:
    words = [node.kind.lower(), *(word.text for word in node.words)]
    return " ".join([*words, *([_list(node.values)] if node.values else [])])


def _end(node: tree.Connector | tree.Parameter | tree.Value) -> str:
    return f"{node.name.text}({_list(node.args)})" if isinstance(node, tree.Connector) else shown(node)


# -- queries -----------------------------------------------------------------------------------------------


def _query(node: tree.Query) -> Iterator[str]:
    if isinstance(node, tree.With):
        for name, query in node.parts:
            yield f"with {name.text}"
            yield from _below(_query(query))
        yield from _query(node.body)
    elif isinstance(node, tree.Combined):
        yield "union" if node.distinct else "union all"
        for branch in node.branches:
            yield from _below(_query(branch))
    else:
        yield from _select(node)


def _select(node: tree.Select) -> Iterator[str]:
    yield "select distinct" if node.distinct else "select"
    for item in node.items:
        yield f"  {shown(item.value)}{f' as {item.alias.text}' if item.alias else ''}"
    yield "from"
    yield from _below(_relation(node.source))
    if node.where is not None:
        yield f"where {shown(node.where)}"
    if node.keys:
        yield f"group by {_list(node.keys)}"
    if node.window is not None:
        yield f"window {_window(node.window)}"
    if node.having is not None:
        yield f"having {shown(node.having)}"
    if node.order:
        yield f"order by {', '.join(map(_order, node.order))}"
    if node.limit is not None:
        by = f" by {_list(node.limit.by)}" if node.limit.by else ""
        yield f"limit {shown(node.limit.count)}{by}"
    if node.on_error is not None:
        limit = f" limit {shown(node.on_error.limit)}" if node.on_error.limit is not None else ""
        yield f"on error {node.on_error.policy}{limit}"


def _relation(node: tree.Relation) -> Iterator[str]:
    alias = f" as {node.alias.text}" if node.alias else ""
    if isinstance(node, tree.Reference):
        yield f"{node.name.text}{alias}"
    elif isinstance(node, tree.Nested):
        yield f"query{alias}"
        yield from _below(_query(node.query))
    elif isinstance(node, tree.Applied):
        by = f" partition by {_list(node.partition)}" if node.partition else ""
        yield f"{node.function.text.lower()}({_list(node.args)}){by}{alias} of"
        yield from _below(_relation(node.input))
    else:
        assert isinstance(node, tree.Joined)
        on = f" on {shown(node.on)}" if node.on is not None else ""
        using = f" using ({', '.join(word.text for word in node.using)})" if node.using else ""
        within = f" within {shown(node.within)}" if node.within is not None else ""
        yield f"{node.kind.text} join{on}{using}{within}"
        yield from _below(_relation(node.left))
        yield from _below(_relation(node.right))


def _window(node: tree.Windowing) -> str:
    found = f"{node.kind.text.lower()}({_list(node.args)})"
    for word, value in (("offset", node.offset), ("lateness", node.lateness)):
        found += f" {word} {shown(value)}" if value is not None else ""
    return found + (f" result at {node.result.text.lower()}" if node.result else "")


def _order(node: tree.Order) -> str:
    return f"{shown(node.by)}{' descending' if node.descending else ''}"


def _below(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


# -- expressions -------------------------------------------------------------------------------------------


def _list(nodes: tuple[tree.Tree, ...]) -> str:
    return ", ".join(map(shown, nodes))


def shown(node: tree.Tree) -> str:
    """An expression with all its parentheses."""
    if isinstance(node, tree.Name):
        return ".".join(node.parts)
    if isinstance(node, tree.Star):
        without = f" except ({_list(node.without)})" if node.without else ""
        return f"{node.relation}.*{without}" if node.relation else f"*{without}"
    if isinstance(node, tree.Value):
        return "null" if node.value is None else repr(node.value)
    if isinstance(node, tree.Length):
        return show_duration(node.micros)
    if isinstance(node, tree.Parameter):
        return f":{node.name}"
    if isinstance(node, tree.Word):
        return node.text
    if isinstance(node, tree.Named):
        return f"{node.name.text} => {shown(node.value)}"
    if isinstance(node, tree.Like):
        return f"({shown(node.arg)} LIKE {shown(node.pattern)})"
    if isinstance(node, tree.Conversion):
        return f"cast({shown(node.arg)} as {node.to.text})"
    if isinstance(node, tree.Case):
        pairs = " ".join(f"when {shown(condition)} then {shown(value)}" for condition, value in node.pairs)
        return f"case {pairs}{f' else {shown(node.otherwise)}' if node.otherwise else ''} end"
    if isinstance(node, tree.Operator):
        return _operator(node)
    assert isinstance(node, tree.Call)
    return _call(node)


def _operator(node: tree.Operator) -> str:
    sign = _SIGNS.get(node.function, node.symbol) if node.symbol in _REWRITTEN else node.symbol
    first, *rest = map(shown, node.args)
    if not rest:
        return f"({first} {sign})" if sign == "IS NULL" else f"({sign} {first})"
    return f"({first} IN ({', '.join(rest)}))" if sign == "IN" else f"({first} {sign} {', '.join(rest)})"


def _call(node: tree.Call) -> str:
    found = f"{node.name.text.lower()}({'distinct ' if node.distinct else ''}{_list(node.args)})"
    if node.within is not None:
        found += f" within group (order by {_order(node.within)})"
    return found + (f" filter ({shown(node.where)})" if node.where is not None else "")
