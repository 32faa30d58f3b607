"""Plans on their way to SQL: every distinct sub-plan is one view, and a view that several others read is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from waterclock.batch.expressions import big
from waterclock.batch.latest import latest
from waterclock.plan.nodes import Input, Node
from waterclock.schema import VE, VS
from waterclock.time import FOREVER

Rule = Callable[["Query", Node], str]
OPEN = big(FOREVER)
DEEP = 4


@dataclass
class View:
    name: str
    label: str
    """Of the node that it is the view of."""
    sql: str
    depth: int
    """How many costly views stand on each other here; 0 where computing it again only reads the stream again."""
    uses: int = 0

    @property
    def kept(self) -> bool:
        """Whether it is computed once and for all: otherwise deep plans grow beyond what Spark can plan."""
        return self.depth > 0 and (self.uses > 1 or (self.uses == 1 and self.depth % DEEP == 0))


class Query:
    """The views of some outputs. The streams they read are views that must be there: ``streams``, name by name."""

    def __init__(self, outputs: Mapping[str, Node], ctis: Mapping[str, int], rules: Mapping[type[Node], Rule]) -> None:
        self._outputs = outputs
        self._ctis = ctis
        self._rules = rules
        self._by_identity: dict[str, View] = {}
        self.views: list[View] = []
        """In an order in which each reads only those before it."""
        self.streams: dict[str, str] = {}
        self.results = {name: self._compiled(root) for name, root in outputs.items()}

    def view(self, node: Node) -> str:
        """The name of the view of a node; every mention in a query asks anew."""
        if not self._is_made(node):
            assert isinstance(node, Input)
            return self.streams.setdefault(node.stream, f"stream_{len(self.streams)}")
        view = self._compiled(node)
        view.uses += 1
        return view.name

    def top(self, node: Node) -> str:
        """The greatest finite time known behind a node: it bounds what is made of events that never end."""
        known = big(latest(node, self._ctis, self._outputs))
        ends = f"max(CASE WHEN {VE} < {OPEN} THEN {VE} END)"
        return f"(SELECT greatest(max({VS}) + 1L, {ends}, {known}) FROM {self.view(node)})"

    def _compiled(self, node: Node) -> View:
        if isinstance(node, Input) and self._is_made(node):
            return self._compiled(self._outputs[node.stream])
        if node.identity not in self._by_identity:
            sql = f"SELECT * FROM {self.view(node)}" if isinstance(node, Input) else self._rules[type(node)](self, node)
            view = View(f"view_{len(self.views)}", node.label, sql, self._depth(node))
            self._by_identity[node.identity] = view
            self.views.append(view)
        return self._by_identity[node.identity]

    def _depth(self, node: Node) -> int:
        if isinstance(node, Input):
            return self._depth(self._outputs[node.stream]) if self._is_made(node) else 0
        below = max(self._compiled(child).depth if self._is_made(child) else 0 for child in node.inputs)
        return below + (0 if node.stateless else 1)

    def _is_made(self, node: Node) -> bool:
        """Not a stream; a back edge is one, of what the trips before it gave."""
        return not isinstance(node, Input) or (node.stream in self._outputs and not node.back)


# -- arithmetic on times: an open end stays open -----------------------------------------------------------


def later(time: str, by: int) -> str:
    """``time + by``; open where that is beyond all times."""
    if by > 0:
        return f"CASE WHEN {time} >= {big(FOREVER - by)} THEN {OPEN} ELSE {time} + {big(by)} END"
    return f"CASE WHEN {time} = {OPEN} THEN {OPEN} ELSE {time} - {big(-by)} END" if by else time


def until(start: str, duration: str) -> str:
    """``start + duration``; open where the duration is null or reaches beyond all times."""
    return f"CASE WHEN {duration} < {OPEN} - greatest({start}, 0L) THEN {start} + {duration} ELSE {OPEN} END"


def floor(time: str, step: int, offset: int) -> str:
    return f"({time} - pmod({time} - {big(offset % step)}, {big(step)}))"


def ceiling(time: str, step: int, offset: int) -> str:
    return f"({time} + pmod({big(offset % step)} - {time}, {big(step)}))"


def cell(time: str, step: int, offset: int) -> str:
    """The number of the grid cell that a time is in, counted from ``offset % step``."""
    return f"(({floor(time, step, offset)} - {big(offset % step)}) div {big(step)})"


def numbers(first: str, last: str) -> str:
    """One row for every number ``first..last``; none where there is none."""
    return f"explode(IF({first} <= {last}, sequence({first}, {last}), CAST(array() AS array<bigint>)))"


def stamped(result: str, start: str, end: str, hold: str) -> tuple[str, str]:
    """The lifetime of the result of a window."""
    if result == "window":
        return start, end
    return end, f"{end} + 1L" if result == "point_end" else f"{end} + {hold}"
