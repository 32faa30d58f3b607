"""Which code runs a node: the only place that knows all operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from waterclock.operators import attempt, elements, explode, filter, lifetime, project
from waterclock.operators.apply import ApplyOperator
from waterclock.operators.asof import AsOfOperator
from waterclock.operators.base import Operator
from waterclock.operators.chop import ChopOperator
from waterclock.operators.clip import ClipOperator
from waterclock.operators.countwindow import CountOperator
from waterclock.operators.distinct import DistinctOperator
from waterclock.operators.failures import Failures
from waterclock.operators.join import JoinOperator
from waterclock.operators.semi import SemiOperator
from waterclock.operators.session import SessionLifetimeOperator, SessionOperator
from waterclock.operators.snapshot import SnapshotOperator
from waterclock.operators.stitch import StitchOperator
from waterclock.operators.topk import topk_of
from waterclock.operators.track import TrackOperator
from waterclock.operators.window import WindowOperator
from waterclock.plan.aggregate import (
    CountAggregate,
    Distinct,
    SessionAggregate,
    SnapshotAggregate,
    TopK,
    WindowAggregate,
)
from waterclock.plan.guarded import Attempt
from waterclock.plan.join import AsOf, Join
from waterclock.plan.lifetime import Chop, Lifetime, SessionLifetime, Stitch
from waterclock.plan.nodes import Explode, Filter, Input, Node, Project
from waterclock.plan.user import Apply, Elements, Track
from waterclock.time import BEGINNING, FOREVER

_STATELESS: dict[type[Node], Callable[..., pl.LazyFrame]] = {
    Filter: filter.apply,
    Project: project.apply,
    Explode: explode.apply,
    **lifetime.APPLY,
}
_GUARDED: dict[type[Node], Callable[..., pl.LazyFrame]] = {Attempt: attempt.apply, Elements: elements.apply}


def join_of(node: Join) -> Operator:
    if node.kind == "clip":
        return ClipOperator(node)
    return SemiOperator(node) if node.kind == "semi" else JoinOperator(node)


_STATEFUL: dict[type[Node], Callable[..., Operator]] = {
    Join: join_of,
    AsOf: AsOfOperator,
    SessionAggregate: SessionOperator,
    SessionLifetime: SessionLifetimeOperator,
    Stitch: StitchOperator,
    Chop: ChopOperator,
    WindowAggregate: WindowOperator,
    SnapshotAggregate: SnapshotOperator,
    Distinct: DistinctOperator,
    TopK: topk_of,
    CountAggregate: CountOperator,
    Track: TrackOperator,
    Apply: ApplyOperator,
}


def apply(node: Node, frame: pl.LazyFrame, failures: Failures) -> pl.LazyFrame:
    """A stateless node over rows; those that its policy leaves out are added to ``failures``."""
    if type(node) in _GUARDED:
        return _GUARDED[type(node)](node, frame, failures)
    return _STATELESS[type(node)](node, frame)


def operator_of(node: Node) -> Operator:
    return _STATEFUL[type(node)](node)


def cti_behind(node: Node, cti: int) -> int:
    """The time behind a node whose input is at ``cti``, as far as it does not depend on the events."""
    if cti in (BEGINNING, FOREVER):
        return cti
    if isinstance(node, Lifetime):
        return lifetime.cti(node, cti)
    if isinstance(node, WindowAggregate | TopK) and node.window is not None:
        return node.window.output_cti(cti)
    return cti


def latest(node: Node, ctis: Mapping[str, int]) -> int:
    """The greatest finite CTI that the result can have had when its inputs are at ``ctis``, however they got there.

    It bounds the windows of open-ended events when the inputs end.
    """
    if isinstance(node, Input):
        cti = ctis.get(node.stream, BEGINNING)
        return BEGINNING if cti == FOREVER else cti
    known = max(latest(child, ctis) for child in node.inputs)
    return max(known, cti_behind(node, known)) if isinstance(node, WindowAggregate | TopK) else cti_behind(node, known)
