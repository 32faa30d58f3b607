"""What becomes of rows for which user code fails: the policy of an operator, and a projection under one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from waterclock.errors import ConfigError
from waterclock.expr.nodes import Expr, col
from waterclock.expr.rewrite import has_user_code
from waterclock.plan.lifetime import AlterLifetime, SetDuration
from waterclock.plan.nodes import Explode, Filter, Node, Project, Unary
from waterclock.plan.rebuild import parts_of, with_inputs
from waterclock.schema import Schema

POLICIES = ("fail", "skip", "dead_letter")
DEAD_ROWS = Schema.of({"operator": "string", "error": "string", "row": "string", "stream": "string", "seq": "bigint"})
"""The columns of dead letters; stream and number where the operator works on the rows of an input."""


@dataclass(frozen=True)
class OnError:
    policy: str = "fail"
    limit: int | None = None
    """More rows than this, since the beginning, fail the run."""

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            fix = f"Choose one of: {', '.join(POLICIES)}."
            raise ConfigError("CONFIG.BAD_OPTION", option="on_error", value=self.policy, fix=fix)
        if self.limit is not None and (self.policy == "fail" or isinstance(self.limit, bool) or self.limit < 0):
            fix = "It is a number of rows, 0 or more, for 'skip' and 'dead_letter'."
            raise ConfigError("CONFIG.BAD_OPTION", option="limit", value=self.limit, fix=fix)

    @property
    def leaves_out(self) -> bool:
        return self.policy != "fail"

    @property
    def essence(self) -> str:
        return f" on error {self.policy}" if self.leaves_out else ""

    def __str__(self) -> str:
        return self.essence if self.limit is None else f"{self.essence} limit {self.limit}"


FAIL = OnError()


class Guarded(Unary):
    """Gives rows to user code, and leaves out those that it fails for if ``on_error`` says so."""

    on_error: OnError

    @property
    def task(self) -> str:
        """What it does, without its policy."""
        raise NotImplementedError

    @property
    def essence(self) -> str:
        return self.task + self.on_error.essence

    @property
    def label(self) -> str:
        return f"{self.task}{self.on_error}"


@dataclass(frozen=True, eq=False)
class Attempt(Guarded):
    """A projection that leaves rows out. No rule moves anything across it: that would change which rows fail."""

    columns: tuple[tuple[str, Expr], ...]
    on_error: OnError

    @cached_property
    def schema(self) -> Schema:
        return Project(self.input, self.columns).schema

    @property
    def stateless(self) -> bool:
        return True

    @property
    def task(self) -> str:
        return f"attempt to {Project(self.input, self.columns).label}"


def guarded(node: Node, on_error: OnError) -> Node:
    """The operator under a policy. Raises where it has no user code, or none that is given single rows."""
    if isinstance(node, Guarded):
        return with_inputs(node, node.inputs, on_error=on_error)
    if not isinstance(node, Project | Filter | Explode | SetDuration | AlterLifetime):
        raise ConfigError("PLAN.NO_ROW_FAILS", what=node.label)
    if not may_fail(node):
        raise ConfigError("PLAN.NOTHING_FAILS", what=node.label)
    if not on_error.leaves_out:
        return node
    if isinstance(node, Project):
        return Attempt(node.input, node.columns, on_error)
    if isinstance(node, Explode):
        return Explode(_attempted(node.input, node.column, node.array, on_error), node.column, col(node.column))
    name, expr = ("kept", node.predicate) if isinstance(node, Filter) else ("lasts", node.duration)
    assert isinstance(expr, Expr)
    while name in node.schema:
        name += "_"
    below = _attempted(node.input, name, expr, on_error)
    changed = {"predicate": col(name)} if isinstance(node, Filter) else {"duration": col(name)}
    return Project(replace(node, input=below, **changed), tuple((each, col(each)) for each in node.schema.names))  # type: ignore[arg-type]


def _attempted(node: Node, name: str, expr: Expr, on_error: OnError) -> Attempt:
    """All columns, and the value of an expression as one of them."""
    columns = {each: col(each) for each in node.schema.names} | {name: expr}
    return Attempt(node, tuple(columns.items()), on_error)


def may_fail(node: Node) -> bool:
    """Whether a stateless operator calls user code."""
    exprs: list[object] = []
    if isinstance(node, Project):
        exprs = [expr for _, expr in node.columns]
    elif isinstance(node, Filter):
        exprs = [node.predicate]
    elif isinstance(node, Explode):
        exprs = [node.array]
    elif isinstance(node, SetDuration | AlterLifetime):
        exprs = [node.duration]
    return any(isinstance(expr, Expr) and has_user_code(expr) for expr in exprs)


def guards(root: Node) -> list[Guarded]:
    """The operators of a plan that leave rows out."""
    return [node for node in parts_of(root) if isinstance(node, Guarded) and node.on_error.leaves_out]


def has_dead_letters(root: Node) -> bool:
    return any(node.on_error.policy == "dead_letter" for node in guards(root))


def dead_stream(output: str) -> str:
    """Where an output has its dead letters."""
    return f"{output}.dead"
