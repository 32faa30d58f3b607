"""What a function is: its signature, its Polars form and its Spark SQL form.

A signature reads ``name(parameter type, ...) type``. A parameter type is a type name, or

    T, U          any type, the same (the widest) wherever the letter stands; also inside ``array<T>``
    N, I          as T, of numbers only, of integers only
    O             as T, of values that have an order only
    number        a number, as it is
    any           any value, as it is
    const type    a constant, known when the query is written

``= value`` behind it is what it is when left out (None: nothing is passed on), ``...`` says that it may come any number of times.
Arguments are brought to the parameters' types before a form sees them; constants reach the Polars form as Python values.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from waterclock.schema import INTEGERS, NUMBERS, ORDERED, TYPES, element_type, struct_fields

PolarsForm = Callable[..., pl.Expr]
SparkForm = Callable[..., str]
Resolved = tuple[list[str], str]
"""The types to bring the arguments to, and the type of the result."""

UNKNOWN: Any = object()
"""Stands for the value of an argument that is not a constant."""


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: str
    constant: bool = False
    default: Any = UNKNOWN
    many: bool = False

    @property
    def optional(self) -> bool:
        return self.many or self.default is not UNKNOWN

    def __str__(self) -> str:
        default = "" if self.default is UNKNOWN else f" = {sql_value(self.default)}"
        return f"{self.name} {'const ' if self.constant else ''}{self.kind}{'...' if self.many else ''}{default}"


@dataclass(frozen=True)
class ByType:
    """A form that depends on the types: given the arguments' and the result's, it makes the form."""

    make: Callable[[Sequence[str], str], Callable[..., Any]]


@dataclass(frozen=True)
class Example:
    args: tuple[Any, ...]
    result: Any


@dataclass(frozen=True)
class Function:
    name: str
    parameters: tuple[Parameter, ...]
    result: str
    about: str
    polars: PolarsForm | ByType
    spark: SparkForm | ByType
    example: Example
    symbol: str
    aliases: tuple[str, ...] = ()
    approximate: bool = False
    """Of doubles that may differ in the last digits from machine to machine."""
    resolver: Callable[[Sequence[str], Sequence[Any]], Resolved | None] | None = None
    check: Callable[..., None] | None = None
    """Given the constants in order, raises where one is wrong."""
    ours: bool = False
    """Not a function of Spark."""

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(map(str, self.parameters))}) {self.result}"

    @property
    def takes(self) -> str:
        return f"({', '.join(map(str, self.parameters))})"

    def rule(self, types: Sequence[str], values: Sequence[Any] | None = None) -> str | None:
        """The type of the result, or None where the function does not take such arguments."""
        resolved = self.resolve(types, values)
        return resolved[1] if resolved else None

    def resolve(self, types: Sequence[str], values: Sequence[Any] | None = None) -> Resolved | None:
        """``values`` are the constants among the arguments, UNKNOWN for the others; left out, constants are not checked."""
        parameters = self.matched(len(types))
        if parameters is None:
            return None
        unified = None if self.resolver else unify([parameter.kind for parameter in parameters], types, self.result)
        if unified is None and not self.resolver:
            return None
        if values is not None:
            constants = [value for value, parameter in zip(values, parameters, strict=True) if parameter.constant]
            if UNKNOWN in constants:
                return None
            if self.check and None not in constants:
                self.check(*constants)
        if self.resolver:
            return self.resolver(types, values or [UNKNOWN] * len(types))
        return unified

    def matched(self, count: int) -> list[Parameter] | None:
        """The parameter of each of ``count`` arguments."""
        fixed = [parameter for parameter in self.parameters if not parameter.many]
        repeated = [parameter for parameter in self.parameters if parameter.many]
        needed = sum(not parameter.optional for parameter in fixed)
        if count < needed or (count > len(fixed) and not repeated):
            return None
        extra = max(0, count - len(fixed))
        return fixed[:count] + [repeated[index % len(repeated)] for index in range(extra)]

    def defaults(self, count: int) -> list[Any]:
        """What the parameters behind the first ``count`` are when left out."""
        behind = [parameter.default for parameter in self.parameters[count:]]
        return [default for default in behind if default is not UNKNOWN and default is not None]


def unify(kinds: Sequence[str], types: Sequence[str], result: str) -> Resolved | None:
    """Types to bring arguments of ``types`` to, so that they are of ``kinds``."""
    bound: dict[str, str] = {}
    for kind, given in zip(kinds, types, strict=True):
        for letter, found in _letters(kind, given):
            shared = wider(bound.get(letter, "null"), found) if found is not None else None
            if shared is None:
                return None
            bound[letter] = shared
    if not _allowed(bound):
        return None
    filled = {letter: "string" if kind == "null" else kind for letter, kind in bound.items()}
    targets = []
    for kind, given in zip(kinds, types, strict=True):
        target = _target(_fill(kind, filled), given)
        if target is None:
            return None
        targets.append(target)
    return targets, bound[result] if result in bound else _fill(result, filled)


_LETTER = re.compile(r"\b[TUNIO]\b")


def _letters(kind: str, given: str) -> list[tuple[str, str | None]]:
    """What an argument says about the letters in its parameter's type."""
    if not _LETTER.search(kind):
        return []
    if _LETTER.fullmatch(kind):
        return [(kind, given)]
    if given == "null":
        return [(letter, "null") for letter in _LETTER.findall(kind)]
    inner, element = element_type(kind), element_type(given)
    return _letters(inner, element) if inner and element else [("T", None)]


def _allowed(bound: dict[str, str]) -> bool:
    classes = {"N": NUMBERS, "I": INTEGERS, "O": ORDERED}
    return all(kind == "null" or kind in classes[letter] for letter, kind in bound.items() if letter in classes)


def _fill(kind: str, bound: dict[str, str]) -> str:
    return _LETTER.sub(lambda match: bound.get(match.group(), "string"), kind)


_ACCEPTED = {
    "int": INTEGERS,
    "bigint": INTEGERS,
    "float": NUMBERS,
    "double": NUMBERS,
    "date": ("date", "timestamp"),
    "timestamp": ("date", "timestamp"),
    "binary": ("binary", "string"),
}


def _target(kind: str, given: str) -> str | None:
    """The type to bring an argument to, or None where the parameter does not take it."""
    if kind == "any":
        return "string" if given == "null" else given
    if kind == "number":
        return "double" if given == "null" else given if given in NUMBERS else None
    if kind == "struct":
        return given if struct_fields(given) is not None else None
    if given in ("null", kind) or given in _ACCEPTED.get(kind, ()):
        return kind
    return kind if element_type(kind) is not None and wider(kind, given) == kind else None


def wider(left: str, right: str) -> str | None:
    """The common type of two operands, or None."""
    if left == right:
        return left
    if "null" in (left, right):
        return right if left == "null" else left
    if left in NUMBERS and right in NUMBERS:
        return NUMBERS[max(NUMBERS.index(left), NUMBERS.index(right))]
    if {left, right} == {"date", "timestamp"}:
        return "timestamp"
    one, other = element_type(left), element_type(right)
    shared = wider(one, other) if one and other else None
    return f"array<{shared}>" if shared else None


def common(types: Sequence[str]) -> str | None:
    """The common type of any number of operands, or None."""
    result: str | None = "null"
    for kind in types:
        result = wider(result, kind) if result else None
    return result


def coerced(value: pl.Expr, kind: str, to: str) -> pl.Expr:
    """A Polars expression as the type that a parameter asks for."""
    if kind == to:
        return value
    return value.cast(TYPES[to], wrap_numerical=kind in INTEGERS and to in INTEGERS)


def widened(value: str, kind: str, to: str) -> str:
    """A Spark SQL expression as the type that a parameter asks for."""
    return value if kind == to else f"CAST({value} AS {to})"


def sql_value(value: Any) -> str:
    """A default as it stands in a signature."""
    if value is None:
        return "NULL"
    return repr(value) if not isinstance(value, bool) else str(value).lower()


# -- writing the table -------------------------------------------------------------------------------------

_SIGNATURE = re.compile(r"(\w+)\((.*)\) (\S+)")
_PARAMETER = re.compile(r"(\w+) (const )?([\w<>]+)(\.\.\.)?(?: = (.+))?")


def eg(*args: Any, gives: Any) -> Example:
    """Arguments, and what the function gives for them."""
    return Example(args, gives)


def define(
    signature: str,
    about: str,
    polars: PolarsForm | ByType,
    example: Example,
    spark: SparkForm | ByType | None = None,
    symbol: str = "",
    aliases: tuple[str, ...] = (),
    approximate: bool = False,
    resolver: Callable[[Sequence[str], Sequence[Any]], Resolved | None] | None = None,
    check: Callable[..., None] | None = None,
    ours: bool = False,
) -> Function:
    """An entry of the table. Without ``spark``, Spark's function of the same name is called."""
    parts = _SIGNATURE.fullmatch(signature)
    assert parts, signature
    name, listed, result = parts.groups()
    parameters = tuple(_parameter(text) for text in listed.split(", ") if text)
    return Function(
        name, parameters, result, about, polars, spark or called(name), example, symbol or name, aliases, approximate,
        resolver, check, ours,
    )  # fmt: skip


def strictly(form: PolarsForm) -> PolarsForm:
    """Null where an argument is null, whatever the form makes of it."""

    def strict(*args: Any) -> pl.Expr:
        known = [arg.is_not_null() for arg in args if isinstance(arg, pl.Expr)]
        return pl.when(pl.all_horizontal(known)).then(form(*args))

    return strict


def called(name: str) -> SparkForm:
    """A plain call in Spark SQL."""
    return lambda *args: f"{name}({', '.join(args)})"


def infix(operator: str) -> SparkForm:
    """Operands with an operator between them."""
    return lambda *args: f" {operator} ".join(args)


def _parameter(text: str) -> Parameter:
    parts = _PARAMETER.fullmatch(text)
    assert parts, text
    name, constant, kind, many, default = parts.groups()
    value = UNKNOWN if default is None else ast.literal_eval(default)
    return Parameter(name, kind, bool(constant), value, bool(many))
