"""A program: its statements one after another, into an app."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from waterclock.errors import ConfigError, SqlError, WaterclockError
from waterclock.lang.sql import tree
from waterclock.lang.sql.bind import Context, bind_query
from waterclock.lang.sql.bind.constants import constant
from waterclock.lang.sql.bind.context import Poisoned
from waterclock.lang.sql.bind.declare import StreamOptions, rows_of, schema_of
from waterclock.lang.sql.given import Given
from waterclock.lang.sql.names import listed, match, nearest
from waterclock.lang.sql.parse import parse
from waterclock.lang.sql.source import Source, Span
from waterclock.plan import Node
from waterclock.plan.strategy import STRATEGIES, Strategy

Factory = Callable[..., Any]


class Target(Protocol):
    """What a program is run into: an app, as far as the language knows it."""

    @property
    def sources(self) -> Mapping[str, Factory]: ...

    @property
    def sinks(self) -> Mapping[str, Factory]: ...

    @property
    def options(self) -> Mapping[str, Callable[[Any], None]]:
        """What SET can set; a name that ends in a dot stands for all that start with it."""

    def declare_stream(
        self, name: str, schema: Mapping[str, object], source: Any, options: Mapping[str, Any]
    ) -> Node: ...

    def declare_table(self, name: str, schema: Mapping[str, object], rows: Any) -> Node: ...

    def late_rows(self, name: str) -> Node: ...

    def add_output(self, name: str, plan: Node, sink: Any, recovery: Strategy | None) -> None: ...

    def unbounded(self, plan: Node) -> tuple[str, Node] | None:
        """The first operator whose state would have no bound, and what it would do; None if that is allowed."""


@dataclass
class Program:
    """Runs statements. Errors are gathered, so that one run names them all."""

    source: Source
    params: Mapping[str, Any]
    target: Target
    names: dict[str, Given]
    slacks: dict[str, int | None]
    errors: list[SqlError] = field(default_factory=list)
    outputs: dict[str, Span] = field(default_factory=dict)
    last: str | Node | None = None
    """What the last statement made: a name, or the plan of a query without one."""
    used: set[str] = field(default_factory=set)
    places: dict[str, Span] = field(default_factory=dict)
    reads: set[str] = field(default_factory=set)
    """Names that something used."""
    defined: dict[str, Span] = field(default_factory=dict)
    bare: bool = False
    """Whether the last statement may be a query without a name."""

    def run(self) -> None:
        parsed = parse(self.source)
        self.errors += parsed.errors
        if not parsed.statements and not parsed.errors:
            self.errors.append(self.source.error("SQL.EMPTY", Span(0, 1)))
        broken = set(parsed.lost)
        todo = [name for name in map(_defines, parsed.statements) if name is not None]
        for statement in parsed.statements:
            name = _defines(statement)
            if name is not None:
                todo.remove(name)
            try:
                self._run(self._context(todo, broken), statement, statement is parsed.statements[-1])
                continue
            except Poisoned:
                pass
            except ConfigError as error:
                found = self.source.caused(error, statement.span)
                self.errors += [found, *found.others]
            except RecursionError:
                self.errors.append(self.source.error("SQL.TOO_DEEP", statement.span))
            if name is not None:
                broken.add(name)
        if not self.errors:
            self._check_params()
            self._check_made(parsed.statements)
        self.errors.sort(key=lambda error: error.offset)

    def _context(self, later: list[str], broken: set[str]) -> Context:
        return Context(
            self.source,
            self.names,
            self.params,
            self.slacks,
            frozenset(later),
            frozenset(broken),
            self.used,
            self.places,
        )

    def _run(self, context: Context, statement: tree.Statement, last: bool) -> None:
        if isinstance(statement, tree.Define) and statement.name is None and not (self.bare and last):
            raise context.error("SQL.UNNAMED", statement.span)
        if isinstance(statement, tree.CreateStream):
            self._create_stream(context, statement)
        elif isinstance(statement, tree.CreateTable):
            self._create_table(context, statement)
        elif isinstance(statement, tree.Define):
            self._define(context, statement)
        elif isinstance(statement, tree.Output):
            self._output(context, statement)
        else:
            self._set(context, statement)

    # -- statements ----------------------------------------------------------------------------------------

    def _create_stream(self, context: Context, node: tree.CreateStream) -> None:
        self._claim(node.name)
        schema = schema_of(context, node.columns)
        clauses = StreamOptions(context, node, schema)
        options = clauses.options()
        if "time_from" in options:
            self.reads.add(options["time_from"])
            if not match(options["time_from"], [*self.names, *context.later]):
                context.find(clauses.clauses["WATERMARK"].words[1])
        source = None if node.source is None else self._connect(context, node.source, "source", self.target.sources)
        try:
            plan = self.target.declare_stream(node.name.text, schema, source, options)
        except ConfigError as error:
            raise self.source.caused(error, node.name.span) from None
        self._name(node.name, Given(plan, options["time"]))
        moved = "cti" in options or "time_from" in options
        self.slacks[node.name.text] = None if moved else options.get("slack")
        if clauses.late_to is not None:
            self._claim(clauses.late_to)
            self._name(clauses.late_to, Given(self.target.late_rows(node.name.text)))
            self.last = node.name.text

    def _create_table(self, context: Context, node: tree.CreateTable) -> None:
        self._claim(node.name)
        schema = schema_of(context, node.columns)
        if node.rows is not None:
            rows: Any = rows_of(context, node, schema)
            span = node.span
        else:
            assert node.source is not None
            span = node.source.span
            rows = self._table_rows(context, node.source)
        try:
            plan = self.target.declare_table(node.name.text, schema, rows)
        except (WaterclockError, OSError, TypeError) as error:  # a row or a file that breaks the declaration
            raise self._failed(error, span) from None
        self._name(node.name, Given(plan))

    def _table_rows(self, context: Context, node: tree.Connector | tree.Parameter | tree.Value) -> Any:
        if isinstance(node, tree.Connector):
            path = node.args[0] if len(node.args) == 1 else None
            if node.name.text.lower() != "files" or path is None or isinstance(path, tree.Named):
                raise context.unsupported(node.span, "A table from this", "Write FROM files('rows.csv'): one file.")
            return constant(context, path, "The file of a table")
        return constant(context, node, "The rows of a table")

    def _failed(self, error: Exception, span: Span) -> SqlError:
        if isinstance(error, SqlError):
            return error
        if not isinstance(error, WaterclockError):
            return self.source.error("SQL.REFUSED", span, inner=type(error).__name__, message=str(error), fix="")
        # How a stream treats bad rows does not help a table.
        fix = "Correct the rows." if error.code in ("DATA.WRONG_TYPE", "DATA.MALFORMED") else error.hint
        return self.source.error("SQL.REFUSED", span, inner=error.code, message=error.message, fix=fix)

    def _define(self, context: Context, node: tree.Define) -> None:
        if node.name is not None:
            self._claim(node.name)
        plan = bind_query(context, node.query)
        self._note_reads(node.query)
        if node.name is None:
            self.last = plan
        else:
            self._name(node.name, Given(plan))

    def _output(self, context: Context, node: tree.Output) -> None:
        plan = context.find(node.query).plan
        self.reads.add(match(node.query.text, self.names)[0])
        name = node.name or node.query
        if name.text in self.slacks or name.text in self.outputs:
            fix = f"Give the output a name of its own: OUTPUT {node.query.text} AS {name.text}_out TO ..."
            raise context.error("SQL.DUPLICATE_NAME", name.span, name=name.text, fix=fix)
        sink = None if node.sink is None else self._connect(context, node.sink, "sink", self.target.sinks)
        recovery = None if node.recovery is None else self._connect(context, node.recovery, "strategy", STRATEGIES)
        problem = self.target.unbounded(plan)
        if problem is not None:
            span = self.places.get(problem[1].identity, node.query.span)
            raise context.error("SQL.UNBOUNDED", span, what=_shown(self.source, span), problem=problem[0])
        try:
            self.target.add_output(name.text, plan, sink, recovery)
        except ConfigError as error:
            raise self.source.caused(error, node.span) from None
        self.outputs[name.text] = node.span
        self.last = match(node.query.text, self.names)[0]

    def _set(self, context: Context, node: tree.SetOption) -> None:
        options = self.target.options
        value = constant(context, node.value, "The value of an option")
        name = node.option.text.lower()
        for option, put in options.items():
            if name == option or (option.endswith(".") and name.startswith(option)):
                try:
                    put(value if not option.endswith(".") else (node.option.text, value))
                except (ConfigError, TypeError, ValueError) as error:
                    raise self._failed(error, node.span) from None
                return
        choices = [option + "*" if option.endswith(".") else option for option in options]
        guess = nearest(name, choices)
        raise context.error(
            "SQL.UNKNOWN_OPTION", node.option.span, option=node.option.text, choices=", ".join(choices), guess=guess
        )

    # -- names and connectors ------------------------------------------------------------------------------

    def _claim(self, name: tree.Word) -> None:
        if name.text in self.names:
            fix = "Give each stream, table and query its own name."
            raise self.source.error("SQL.DUPLICATE_NAME", name.span, name=name.text, fix=fix)

    def _name(self, name: tree.Word, given: Given) -> None:
        self.names[name.text] = given
        self.defined[name.text] = name.span
        self.last = name.text

    def _note_reads(self, query: tree.Query) -> None:
        for part in tree.walk(query, nested=True):
            if isinstance(part, tree.Reference):
                self.reads |= set(match(part.name.text, self.names))

    def _connect(
        self, context: Context, node: tree.Connector | tree.Parameter, kind: str, known: Mapping[str, Factory]
    ) -> Any:
        if isinstance(node, tree.Parameter):
            return context.parameter(node)
        name = match(node.name.text, known)
        if not name:
            choices, guess = listed(known), nearest(node.name.text, list(known))
            raise context.error(
                "SQL.UNKNOWN_CONNECTOR", node.name.span, kind=kind, name=node.name.text, choices=choices, guess=guess
            )
        factory = known[name[0]]
        positional, named = [], {}
        parameters = inspect.signature(factory).parameters
        for arg in node.args:
            if not isinstance(arg, tree.Named):
                positional.append(constant(context, arg, f"An option of {name[0]}"))
                continue
            found = match(arg.name.text, parameters)
            if not found:
                choices, guess = listed(parameters), nearest(arg.name.text, list(parameters))
                raise context.error(
                    "SQL.UNKNOWN_OPTION", arg.name.span, option=arg.name.text, choices=choices, guess=guess
                )
            named[found[0]] = constant(context, arg.value, f"The option {found[0]}")
        try:
            inspect.signature(factory).bind(*positional, **named)
        except TypeError:
            shape = f"{name[0]}({', '.join(_parameter(p) for p in parameters.values())})"
            given = f"{len(node.args)} argument{'' if len(node.args) == 1 else 's'}"
            raise context.error("SQL.WRONG_ARGUMENTS", node.span, function=name[0], given=given, usage=shape) from None
        try:
            return factory(*positional, **named)
        except ConfigError as error:
            raise self.source.caused(error, node.span) from None
        except (TypeError, ValueError) as error:
            raise self._failed(error, node.span) from None

    def _check_made(self, statements: list[tree.Statement]) -> None:
        if self.bare and self.last is None:
            self.errors.append(self.source.error("SQL.NOTHING_MADE", statements[-1].span))

    def _check_params(self) -> None:
        for name in self.params:
            if name not in self.used:
                choices, guess = listed(sorted(self.used)), nearest(name, sorted(self.used))
                error = SqlError("SQL.UNUSED_PARAMETER", name=name, choices=choices, guess=guess)
                self.errors.append(error)


def _defines(statement: tree.Statement) -> str | None:
    if isinstance(statement, tree.CreateStream | tree.CreateTable | tree.Define):
        return None if statement.name is None else statement.name.text
    return None


def _shown(source: Source, span: Span) -> str:
    text = " ".join(source.slice(span).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _parameter(parameter: inspect.Parameter) -> str:
    empty = parameter.default is parameter.empty
    return parameter.name if empty else f"{parameter.name} => {parameter.default!r}"
