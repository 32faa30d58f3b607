"""The expression tree, and the operators that build it in Python."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from waterclock.errors import ConfigError
from waterclock.expr.casts import castable
from waterclock.expr.functions import FUNCTIONS, UNKNOWN
from waterclock.expr.methods import Methods
from waterclock.schema import TYPES, Schema, type_name
from waterclock.time import instant
from waterclock.usercode.scalar import Scalar


class Expr(Methods):
    """A scalar expression over the columns of one event."""

    def _call(self, function: str, *args: object) -> Expr:
        return call(function, self, *args)

    def type_in(self, schema: Schema) -> str:
        """The type of this expression over ``schema``; raises where it has none."""
        raise NotImplementedError

    def columns(self) -> set[str]:
        """The columns it reads."""
        raise NotImplementedError

    def __add__(self, other: object) -> Expr:
        return call("add", self, other)

    def __radd__(self, other: object) -> Expr:
        return call("add", other, self)

    def __sub__(self, other: object) -> Expr:
        return call("subtract", self, other)

    def __rsub__(self, other: object) -> Expr:
        return call("subtract", other, self)

    def __mul__(self, other: object) -> Expr:
        return call("multiply", self, other)

    def __rmul__(self, other: object) -> Expr:
        return call("multiply", other, self)

    def __truediv__(self, other: object) -> Expr:
        return call("divide", self, other)

    def __rtruediv__(self, other: object) -> Expr:
        return call("divide", other, self)

    def __floordiv__(self, other: object) -> Expr:
        return call("div", self, other)

    def __mod__(self, other: object) -> Expr:
        return call("mod", self, other)

    def __neg__(self) -> Expr:
        return call("negate", self)

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return call("eq", self, other)

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return call("ne", self, other)

    def __lt__(self, other: object) -> Expr:
        return call("lt", self, other)

    def __le__(self, other: object) -> Expr:
        return call("le", self, other)

    def __gt__(self, other: object) -> Expr:
        return call("gt", self, other)

    def __ge__(self, other: object) -> Expr:
        return call("ge", self, other)

    def __and__(self, other: object) -> Expr:
        return call("and", self, other)

    def __or__(self, other: object) -> Expr:
        return call("or", self, other)

    def __invert__(self) -> Expr:
        return call("not", self)

    def __bool__(self) -> bool:
        raise ConfigError("EXPR.NO_TRUTH")

    __hash__ = object.__hash__

    def abs(self) -> Expr:
        return call("abs", self)

    def is_null(self) -> Expr:
        return call("is_null", self)

    def is_not_null(self) -> Expr:
        return ~self.is_null()

    def is_in(self, values: list[Any] | tuple[Any, ...]) -> Expr:
        return call("is_in", self, *values)

    def between(self, low: object, high: object) -> Expr:
        return (self >= low) & (self <= high)

    def cast(self, to: object) -> Expr:
        return Cast(self, type_name(to))

    def unix_micros(self) -> Expr:
        """A timestamp as microseconds since 1970."""
        return call("unix_micros", self)

    def floor_to(self, step: int, offset: int = 0) -> Expr:
        """An integer down to the grid ``offset + n * step``."""
        return call("floor_to", self, step, offset)

    def ceil_to(self, step: int, offset: int = 0) -> Expr:
        """An integer up to the grid ``offset + n * step``."""
        return call("ceil_to", self, step, offset)

    def lower(self) -> Expr:
        return call("lower", self)

    def upper(self) -> Expr:
        return call("upper", self)

    def trim(self) -> Expr:
        return call("trim", self)

    def length(self) -> Expr:
        return call("length", self)

    def contains(self, text: object) -> Expr:
        return call("contains", self, text)

    def startswith(self, text: object) -> Expr:
        return call("startswith", self, text)

    def endswith(self, text: object) -> Expr:
        return call("endswith", self, text)


@dataclass(frozen=True, eq=False)
class Column(Expr):
    name: str

    def type_in(self, schema: Schema) -> str:
        return schema.type_of(self.name)

    def columns(self) -> set[str]:
        return {self.name}

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class Start(Expr):
    """When the event starts."""

    def type_in(self, schema: Schema) -> str:
        return "timestamp"

    def columns(self) -> set[str]:
        return set()

    def __repr__(self) -> str:
        return "start()"


@dataclass(frozen=True, eq=False)
class End(Expr):
    """When the event ends; null if it never does."""

    def type_in(self, schema: Schema) -> str:
        return "timestamp"

    def columns(self) -> set[str]:
        return set()

    def __repr__(self) -> str:
        return "end()"


@dataclass(frozen=True, eq=False)
class Literal(Expr):
    value: Any
    type: str

    def type_in(self, schema: Schema) -> str:
        return self.type

    def columns(self) -> set[str]:
        return set()

    def __repr__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True, eq=False)
class Call(Expr):
    function: str
    args: tuple[Expr, ...]

    def type_in(self, schema: Schema) -> str:
        return self.resolved(schema)[1]

    @property
    def complete(self) -> tuple[Expr, ...]:
        """The arguments, with those that were left out."""
        return (*self.args, *map(lit, FUNCTIONS[self.function].defaults(len(self.args))))

    def resolved(self, schema: Schema) -> tuple[list[str], str]:
        """The types that the complete arguments are brought to, and the type of the result."""
        function, args = FUNCTIONS[self.function], self.args
        types = [arg.type_in(schema) for arg in args]
        values = [constant(arg) for arg in self.complete]
        if function.matched(len(args)) is not None:
            types += [arg.type_in(schema) for arg in self.complete[len(args) :]]
            resolved = function.resolve(types, values)
            if resolved is not None:
                return resolved
        raise ConfigError(
            "EXPR.WRONG_TYPE",
            what=f"{function.symbol!r} in {self!r}",
            types=" and ".join(types[: len(args)]) or "no arguments",
            fix=f"It is {function.signature}; cast with .cast('type').",
        )

    def columns(self) -> set[str]:
        return set().union(*(arg.columns() for arg in self.args))

    def __repr__(self) -> str:
        symbol = FUNCTIONS[self.function].symbol
        if len(self.args) == 2 and not symbol[0].isalpha():
            return f"({self.args[0]!r} {symbol} {self.args[1]!r})"
        return f"{symbol}({', '.join(map(repr, self.args))})"


@dataclass(frozen=True, eq=False)
class Cast(Expr):
    arg: Expr
    to: str

    def type_in(self, schema: Schema) -> str:
        kind = self.arg.type_in(schema)
        if not castable(kind, self.to):
            fix = "Cast to string first, or build the value from its parts."
            raise ConfigError("EXPR.WRONG_TYPE", what=f"A cast to {self.to} in {self!r}", types=kind, fix=fix)
        return self.to

    def columns(self) -> set[str]:
        return self.arg.columns()

    def __repr__(self) -> str:
        return f"cast({self.arg!r} as {self.to})"


@dataclass(frozen=True, eq=False)
class UserCall(Expr):
    """A scalar function that the user wrote in Python."""

    function: Scalar
    args: tuple[Expr, ...]

    def type_in(self, schema: Schema) -> str:
        for arg in self.args:
            arg.type_in(schema)
        return self.function.returns

    def columns(self) -> set[str]:
        return set().union(*(arg.columns() for arg in self.args))

    def __repr__(self) -> str:
        return f"{self.function.label}({', '.join(map(repr, self.args))})"


class When:
    """``when(condition, value).when(...).otherwise(value)``: SQL's CASE."""

    def __init__(self, *pairs: object) -> None:
        self._pairs = pairs

    def when(self, condition: Expr, value: object) -> When:
        return When(*self._pairs, condition, value)

    def otherwise(self, value: object) -> Expr:
        return call("case", *self._pairs, value)


def col(name: str) -> Column:
    """A column of the event."""
    return Column(name)


def lit(value: object) -> Expr:
    """A constant."""
    if isinstance(value, Expr):
        return value
    if value is None:
        return Literal(None, "null")
    if isinstance(value, bool):
        return Literal(value, "boolean")
    if isinstance(value, int):
        return Literal(value, "int" if -(2**31) <= value < 2**31 else "bigint")
    if isinstance(value, float):
        return Literal(value, "double")
    if isinstance(value, str):
        return Literal(value, "string")
    if isinstance(value, bytes):
        return Literal(value, "binary")
    if isinstance(value, datetime):
        return Literal(instant(value), "timestamp")
    if isinstance(value, date):
        return Literal(value, "date")
    raise ConfigError("EXPR.BAD_LITERAL", value=repr(value))


def constant(expr: Expr) -> Any:
    """The value of a constant, or UNKNOWN; a minus before a number is part of it."""
    if isinstance(expr, Literal):
        return expr.value
    if isinstance(expr, Call) and expr.function == "negate" and isinstance(constant(expr.args[0]), int | float):
        return -constant(expr.args[0])
    return UNKNOWN


def call(function: str, *args: object) -> Expr:
    return Call(function, tuple(lit(arg) for arg in args))


def when(condition: Expr, value: object) -> When:
    return When(condition, value)


def start() -> Start:
    """When the event starts, as a timestamp."""
    return Start()


def end() -> End:
    """When the event ends, as a timestamp; null if it never does."""
    return End()


def array(*values: object) -> Expr:
    """Values of one type as an array."""
    return call("array", *values)


def split(text: object, separator: str) -> Expr:
    """The parts of a text between separators, as an array."""
    quoted = separator.replace("\\E", "\\E\\\\E\\Q")
    return call("split", as_expr(text), f"\\Q{quoted}\\E" if separator else "")


def uses_time(expr: Expr) -> bool:
    """Whether an expression reads the lifetime of the event."""
    if isinstance(expr, Call | UserCall):
        return any(uses_time(arg) for arg in expr.args)
    return uses_time(expr.arg) if isinstance(expr, Cast) else isinstance(expr, Start | End)


def coalesce(*values: object) -> Expr:
    """The first value that is not null."""
    return call("coalesce", *values)


def as_expr(value: object) -> Expr:
    """A column name or an expression, as methods of streams take them."""
    return col(value) if isinstance(value, str) else lit(value)


assert "null" not in TYPES  # the type of a bare None exists only inside expressions
