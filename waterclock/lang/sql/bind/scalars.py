"""Scalar expressions: names become columns, operators and calls become entries of the table of functions."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, NamedTuple

from waterclock.errors import ConfigError
from waterclock.expr.functions import FUNCTIONS, common
from waterclock.expr.nodes import Call, Cast, End, Expr, Literal, Start, UserCall, col, lit
from waterclock.lang.sql import tree
from waterclock.lang.sql.bind.context import Context
from waterclock.lang.sql.bind.scope import Rows
from waterclock.lang.sql.functions import REWRITTEN as REWRITTEN_USAGE
from waterclock.lang.sql.functions import (
    Aggregating,
    OfTime,
    Rewritten,
    Scalar,
    UserScalar,
    resolve,
    takes,
    unknown,
    usage,
)
from waterclock.lang.sql.names import nearest
from waterclock.lang.sql.source import Span
from waterclock.schema import NUMBERS, TYPES, Schema, type_name
from waterclock.time import instant, micros

DURATION = "a duration"
"""The type of ``5s``; it exists only inside expressions."""
_TAKES = {
    **dict.fromkeys(("add", "subtract", "multiply", "divide", "mod", "negate"), "numbers"),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "is_in"), "values of one type"),
    **dict.fromkeys(("and", "or", "not"), "conditions"),
    "div": "integers",
    "concat": "texts",
    "case": "conditions and values of one type",
}
"""What operators take, for errors."""


class Typed(NamedTuple):
    expr: Expr
    type: str


class Scalars:
    """Binds expressions over the events of FROM."""

    def __init__(self, context: Context, rows: Rows, clause: str, aliases: frozenset[str] = frozenset()) -> None:
        self.context = context
        self.rows = rows
        self.clause = clause
        """Where the expression stands, for errors."""
        self.aliases = aliases
        """Names that the same SELECT gives, and that do not exist yet."""

    def bind(self, node: tree.Expression) -> Typed:
        if isinstance(node, tree.Name):
            return self.name(node)
        if isinstance(node, tree.Value):
            return Typed(Literal(node.value, node.type), node.type)
        if isinstance(node, tree.Length):
            return Typed(Literal(node.micros, "bigint"), DURATION)
        if isinstance(node, tree.Parameter):
            return self._parameter(node)
        if isinstance(node, tree.Operator):
            return self._operator(node)
        if isinstance(node, tree.Like):
            return self._like(node)
        if isinstance(node, tree.Conversion):
            return self._conversion(node)
        if isinstance(node, tree.Case):
            return self._case(node)
        return self.call(node)

    def condition(self, node: tree.Expression) -> Expr:
        found = self.bind(node)
        if found.type not in ("boolean", "null"):
            raise self.context.error("SQL.NOT_CONDITION", node.span, clause=self.clause, type=found.type)
        return found.expr

    def value(self, node: tree.Expression) -> Typed:
        """An expression whose result is a value of an event, so not a bare duration."""
        found = self.bind(node)
        if found.type == DURATION:
            fix = "Add it to a timestamp: ts + 5s, or write a number of microseconds."
            raise self.context.error("SQL.BAD_VALUE", node.span, what="A value", value="a duration", fix=fix)
        return found

    def name(self, node: tree.Name) -> Typed:
        known = any(column.name.lower() == node.last.lower() for seen in self.rows.visible for column in seen.columns)
        if len(node.parts) == 1 and not known and node.last in self.aliases:
            raise self.context.error("SQL.ALIAS_IN_WHERE", node.span, column=node.last, clause=self.clause)
        column = self.rows.resolve(self.context, node)
        return Typed(col(column.physical), column.type)

    # -- constants -----------------------------------------------------------------------------------------

    def _parameter(self, node: tree.Parameter) -> Typed:
        value = self.context.parameter(node)
        if isinstance(value, timedelta):
            return Typed(Literal(micros(value), "bigint"), DURATION)
        if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
            raise self.context.error("SQL.BAD_NUMBER", node.span, text=value)
        try:
            bound = lit(value)
        except ConfigError as error:
            raise self.context.source.caused(error, node.span) from None
        if not isinstance(bound, Literal):
            fix = "A parameter is a number, a text, a boolean, a date, a datetime, a timedelta or None."
            raise self.context.error("SQL.BAD_VALUE", node.span, what=f":{node.name}", value=repr(value), fix=fix)
        return Typed(bound, bound.type)

    # -- operators -----------------------------------------------------------------------------------------

    def _operator(self, node: tree.Operator) -> Typed:
        args = [self.bind(arg) for arg in node.args]
        if node.function in ("add", "subtract", "negate") and any(arg.type == DURATION for arg in args):
            return self._moved(node, args)
        if node.function == "multiply" and {arg.type for arg in args} in ({DURATION, "int"}, {DURATION, "bigint"}):
            return Typed(Call("multiply", tuple(arg.expr for arg in args)), DURATION)
        if node.function in ("eq", "ne", "lt", "le", "gt", "ge", "same", "is_in"):
            args = self._comparable(node, args)
        if node.function == "same":
            equal = self.apply("eq", args, node.span, node.symbol)
            nulls = [Call("is_null", (arg.expr,)) for arg in args]
            return Typed(Call("coalesce", (equal.expr, Call("and", tuple(nulls)))), "boolean")
        return self.apply(node.function, args, node.span, node.symbol)

    def apply(self, function: str, args: list[Typed], span: Span, symbol: str) -> Typed:
        types = [arg.type for arg in args]
        try:
            if DURATION in types:
                raise ConfigError("EXPR.WRONG_TYPE", what=symbol, types=DURATION, fix="")
            return Typed(Call(function, tuple(arg.expr for arg in args)), _type_of_call(function, args))
        except ConfigError as error:
            if error.code != "EXPR.WRONG_TYPE":
                raise self.context.source.caused(error, span) from None
            takes_what, fix = _TAKES.get(function) or FUNCTIONS[function].takes, self._fix(function, types)
            given = " and ".join(dict.fromkeys(types))
            raise self.context.error(
                "SQL.WRONG_TYPE", span, what=symbol, types=given, takes=takes_what, fix=fix
            ) from None

    def _fix(self, function: str, types: list[str]) -> str:
        if function == "subtract" and types.count("timestamp") == 2:
            return " The time between two timestamps in microseconds is unix_micros(a) - unix_micros(b)."
        if "timestamp" in types and function in ("add", "subtract"):
            return " Add a duration to a timestamp: ts + 5s."
        if function == "add" and "string" in types:
            return " Join texts with ||; convert with CAST(x AS INT)."
        return " Convert with CAST(x AS type)."

    def _moved(self, node: tree.Operator, args: list[Typed]) -> Typed:
        """A timestamp and a duration, or two durations."""
        types = [arg.type for arg in args]
        if all(kind == DURATION for kind in types):
            return Typed(Call(node.function, tuple(arg.expr for arg in args)), DURATION)
        if types == ["timestamp", DURATION] or (types == [DURATION, "timestamp"] and node.function == "add"):
            parts = [Call("unix_micros", (a.expr,)) if a.type == "timestamp" else a.expr for a in args]
            return Typed(timestamp_of(Call(node.function, tuple(parts))), "timestamp")
        if "date" in types:
            fix = " Make it a timestamp first: CAST(d AS TIMESTAMP) + 1d."
        else:
            fix = " A duration can be added to a timestamp."
        raise self.context.error(
            "SQL.WRONG_TYPE", node.span, what=node.symbol, types=" and ".join(types), takes="numbers", fix=fix
        )

    def _comparable(self, node: tree.Operator, args: list[Typed]) -> list[Typed]:
        """Texts that are compared with times are times, as in Spark SQL; but only constants."""
        kinds = {arg.type for arg in args}
        kind = next((kind for kind in ("timestamp", "date") if kind in kinds), None)
        if kind is None or "string" not in kinds:
            return args
        return [self._as_time(part, arg, kind) for part, arg in zip(node.args, args, strict=True)]

    def _as_time(self, node: tree.Expression, arg: Typed, kind: str) -> Typed:
        if arg.type != "string" or not isinstance(arg.expr, Literal):
            return arg
        try:
            value: Any = instant(arg.expr.value) if kind == "timestamp" else date.fromisoformat(arg.expr.value)
        except (ConfigError, ValueError, OverflowError):
            raise self.context.error("SQL.BAD_MOMENT", node.span, text=arg.expr.value, kind=kind.upper()) from None
        return Typed(Literal(value, kind), kind)

    def _like(self, node: tree.Like) -> Typed:
        args = [self.bind(node.arg), self.bind(node.pattern)]
        if "like" in FUNCTIONS:
            return self.apply("like", args, node.span, "LIKE")
        pattern = args[1].expr.value if isinstance(args[1].expr, Literal) else None
        if not isinstance(pattern, str):
            raise self.context.error("SQL.NOT_CONSTANT", node.pattern.span, what="The pattern of LIKE")
        middle = pattern.strip("%")
        if "%" in middle or "_" in middle or "\\" in middle:
            fix = "Use % at the ends alone, or startswith, endswith and contains."
            raise self.context.unsupported(node.pattern.span, "A pattern with wildcards inside", fix)
        starts, ends = pattern.startswith("%"), pattern.endswith("%")
        function = {(True, True): "contains", (False, True): "startswith", (True, False): "endswith"}.get(
            (starts, ends), "eq"
        )
        return self.apply(function, [args[0], Typed(Literal(middle, "string"), "string")], node.span, "LIKE")

    def _conversion(self, node: tree.Conversion) -> Typed:
        arg, to = self.value(node.arg), self.type_of(node.to)
        for numbers, times, fix in (
            (arg.type, to, "timestamp_micros(x) for microseconds, timestamp_micros(x * 1000000) for seconds."),
            (to, arg.type, "unix_micros(ts) for microseconds, unix_micros(ts) DIV 1000000 for seconds."),
        ):
            if numbers in NUMBERS and times == "timestamp":
                raise self.context.error("SQL.NUMBER_AS_TIME", node.span, fix=fix)
        try:
            Cast(col("arg"), to).type_in(Schema((("arg", arg.type),)))
        except ConfigError as error:
            raise self.context.source.caused(error, node.span) from None
        return Typed(Cast(arg.expr, to), to)

    def type_of(self, word: tree.Word) -> str:
        return type_of(self.context, word)

    def _case(self, node: tree.Case) -> Typed:
        args: list[Typed] = []
        for condition, value in node.pairs:
            args += [Typed(self._when(condition), "boolean"), self.value(value)]
        args.append(Typed(Literal(None, "null"), "null") if node.otherwise is None else self.value(node.otherwise))
        values = [*args[1::2], args[-1]]
        if common([value.type for value in values]) is None:
            types = " and ".join(dict.fromkeys(value.type for value in values))
            fix = " Convert with CAST(x AS type)."
            takes_what = "values of one type"
            raise self.context.error("SQL.WRONG_TYPE", node.span, what="CASE", types=types, takes=takes_what, fix=fix)
        return self.apply("case", args, node.span, "CASE")

    def _when(self, condition: tree.Expression) -> Expr:
        found = self.bind(condition)
        if found.type not in ("boolean", "null"):
            raise self.context.error("SQL.NOT_CONDITION", condition.span, clause="WHEN", type=found.type)
        return found.expr

    # -- calls ---------------------------------------------------------------------------------------------

    def call(self, node: tree.Call) -> Typed:
        resolved = resolve(node.name.text)
        if isinstance(resolved, Aggregating):
            return self.aggregate(node)
        for what, there in (("DISTINCT", node.distinct), ("FILTER", node.where), ("WITHIN GROUP", node.within)):
            if there:
                fix = "It belongs to an aggregate, such as COUNT(DISTINCT x) or SUM(x) FILTER (WHERE y > 5)."
                raise self.context.unsupported(node.span, f"{what} in {node.name.text}", fix)
        if isinstance(resolved, OfTime):
            return self.time(node, resolved.function)
        if resolved is None:
            fix = unknown(node.name.text)
            raise self.context.error("SQL.UNKNOWN_FUNCTION", node.name.span, function=node.name.text, fix=fix)
        args = [self.value(arg) for arg in self.plain(node)]
        if isinstance(resolved, Rewritten):
            return self._rewritten(node, resolved.function, args)
        if isinstance(resolved, UserScalar):
            return self._user(node, resolved, args)
        return self._scalar(node, resolved, args)

    def _user(self, node: tree.Call, resolved: UserScalar, args: list[Typed]) -> Typed:
        try:
            found = resolved.function(*(arg.expr for arg in args))
        except ConfigError as error:
            if error.code != "USER.BAD_ARGUMENTS":
                raise self.context.error(error.code, node.span, **error.values) from None
            parameters = ", ".join(resolved.function.code.parameters())
            raise self.wrong_arguments(node, f"{node.name.text}({parameters}), with a column") from None
        assert isinstance(found, UserCall)
        return Typed(found, found.function.returns)

    def _scalar(self, node: tree.Call, resolved: Scalar, args: list[Typed]) -> Typed:
        if not takes(resolved.function, len(args)):
            raise self.wrong_arguments(node, usage(resolved.function))
        return self.apply(resolved.function, args, node.span, node.name.text)

    def _rewritten(self, node: tree.Call, function: str, args: list[Typed]) -> Typed:
        shape = REWRITTEN_USAGE[function]
        if len(args) != shape.count(",") + 1:
            raise self.wrong_arguments(node, f"{function}{shape}")
        null = Typed(Literal(None, "null"), "null")
        if function in ("if", "iff"):
            return self.apply("case", args, node.span, node.name.text)
        if function in ("nvl", "ifnull"):
            return self.apply("coalesce", args, node.span, node.name.text)
        if function == "nullif":
            equal = self.apply("eq", args, node.span, node.name.text)
            return self.apply("case", [equal, null, args[0]], node.span, node.name.text)
        missing = self.apply("is_null", args, node.span, node.name.text)
        return missing if function == "isnull" else self.apply("not", [missing], node.span, node.name.text)

    def plain(self, node: tree.Call) -> list[tree.Expression]:
        """The arguments of a call that takes only values."""
        found: list[tree.Expression] = []
        for arg in node.args:
            if isinstance(arg, tree.Star):
                raise self.context.error("SQL.STAR", arg.span)
            if isinstance(arg, tree.Named):
                fix = "Give arguments by position: f(x, y)."
                raise self.context.unsupported(arg.span, f"{arg.name.text} => in a function", fix)
            found.append(arg)
        return found

    def wrong_arguments(self, node: tree.Call, shape: str) -> Exception:
        given = f"{len(node.args)} argument{'' if len(node.args) == 1 else 's'}"
        return self.context.error("SQL.WRONG_ARGUMENTS", node.span, function=node.name.text, given=given, usage=shape)

    def time(self, node: tree.Call, function: str) -> Typed:
        if function in ("window_start", "window_end"):
            fix = "It belongs to a query with a window: GROUP BY ... WITH TUMBLING(5s). Here, use START() or END()."
            raise self.context.error("SQL.WINDOW_VALUE", node.span, value=node.name.text, fix=fix)
        args = self.plain(node)
        if not args:
            return Typed(Start() if function == "start" else End(), "timestamp")
        if len(args) > 1 or not isinstance(args[0], tree.Name) or len(args[0].parts) > 1:
            raise self.wrong_arguments(node, f"{function.upper()}() or {function.upper()}(relation)")
        relation = self.rows.relation(self.context, args[0].last, args[0].span)
        hidden = relation.start if function == "start" else relation.end
        assert hidden is not None, "the query projects what it asks for"
        return Typed(col(hidden), "timestamp")

    def aggregate(self, node: tree.Call) -> Typed:
        fix = "Filter results with HAVING." if self.clause == "WHERE" else "Aggregate in a query of its own first."
        raise self.context.error(
            "SQL.AGGREGATE_IN_WHERE", node.span, function=node.name.text.upper(), clause=self.clause, fix=fix
        )


def timestamp_of(number: Expr) -> Expr:
    """A timestamp from microseconds since 1970."""
    return Call("timestamp_micros", (number,))


def _type_of_call(function: str, args: list[Typed]) -> str:
    """The type of a call from the types of its arguments alone: the plan below them may not exist yet."""
    schema = Schema(tuple((f"arg{number}", arg.type) for number, arg in enumerate(args)))
    parts = [a.expr if isinstance(a.expr, Literal) else col(f"arg{number}") for number, a in enumerate(args)]
    return Call(function, tuple(parts)).type_in(schema)


def type_of(context: Context, word: tree.Word) -> str:
    try:
        return type_name(word.text)
    except ConfigError:
        choices = [name.upper() for name in TYPES]
        shown, guess = ", ".join([*choices, "ARRAY<type>"]), nearest(word.text, choices)
        raise context.error("SQL.UNKNOWN_TYPE", word.span, type=word.text, choices=shown, guess=guess) from None
