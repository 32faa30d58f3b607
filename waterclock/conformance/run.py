"""Runs cases in one of several ways and says how each came out."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from waterclock.app import App, SourceStream
from waterclock.catalog import Catalog
from waterclock.conformance.cases import END, START, Case, Step, Unreadable
from waterclock.conformance.compare import difference, show_times
from waterclock.errors import DataError, WaterclockError
from waterclock.lang.fluent import Stream
from waterclock.reference import Event, final
from waterclock.schema import VE, VS
from waterclock.time import BEGINNING, FOREVER, show_instant

MODES = ("reference", "offline", "drain", "batch")
TOGETHER = 30
MASTER = "local[2,4]"


@dataclass(frozen=True)
class Outcome:
    id: str
    status: str
    """passed, failed or skipped."""
    reason: str = ""


Found = tuple[list[Event], list[int]]
"""The result, and the times it went through."""


def run_cases(cases: Sequence[Case | Unreadable], mode: str) -> Iterator[Outcome]:
    """How each case comes out, in order."""
    ready = [case for case in cases if isinstance(case, Case) and not _beyond(case, mode)]
    results = zip(ready, _play(ready, mode), strict=True)
    for case in cases:
        if isinstance(case, Unreadable):
            yield Outcome(case.id, case.status, case.reason)
        elif reason := _beyond(case, mode):
            yield Outcome(case.id, "skipped", reason)
        else:
            yield _judge(*next(results), mode)


def _beyond(case: Case, mode: str) -> str:
    """Why a mode cannot say anything about a case."""
    about_time = mode == "batch" and not case.ends and not case.must_fail
    return "it is about CTIs, and a batch knows only the end" if about_time else ""


def _judge(case: Case, result: Found | Exception, mode: str) -> Outcome:
    if isinstance(result, Exception):
        if case.must_fail and isinstance(result, WaterclockError):
            return Outcome(case.id, "passed")
        return Outcome(case.id, "failed", str(result) or type(result).__name__)
    if case.must_fail:
        return Outcome(case.id, "failed", "expected an error\nactual   none")
    found, ctis = result
    reasons = [difference(found, case.expected)]
    if not _in_time(case, ctis, mode):
        assert case.expected_ctis is not None
        reasons.append(f"expected CTIs {show_times(case.expected_ctis)}\nactual   CTIs {show_times(ctis)}")
    reason = "\n".join(filter(None, reasons))
    return Outcome(case.id, "failed" if reason else "passed", reason)


def _in_time(case: Case, ctis: list[int], mode: str) -> bool:
    if case.expected_ctis is None or tuple(ctis) == case.expected_ctis:
        return True
    if case.operator != "union":
        return False
    (again,) = _play([replace(case, steps=_raised(case.steps))], mode)
    return not isinstance(again, Exception) and tuple(again[1]) == case.expected_ctis


def _raised(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """As if every event were a CTI: each CTI raised to the greatest start seen, as far as later rows allow."""
    found: list[Step] = []
    greatest: dict[str, int] = {}
    for number, step in enumerate(steps):
        greatest[step.stream] = max([greatest.get(step.stream, BEGINNING), *(vs for vs, _, _ in step.events)])
        later = [vs for other in steps[number + 1 :] if other.stream == step.stream for vs, _, _ in other.events]
        if step.cti is not None:
            step = replace(step, cti=max(step.cti, min([greatest[step.stream], *later])))
        found.append(step)
    return tuple(found)


# -- by the definitions ------------------------------------------------------------------------------------


def _reference(case: Case) -> Found:
    arrived: dict[str, list[Event]] = {stream: [] for stream in case.inputs}
    ctis = dict.fromkeys(arrived, BEGINNING)
    seen = dict(ctis)
    times: list[int] = []
    for step in case.steps:
        cti = ctis[step.stream]
        arrived[step.stream] += [event for event in (_on_time(e, cti, case.late) for e in step.events) if event]
        if step.cti is None:
            continue
        ctis[step.stream] = max(cti, step.cti)
        if ctis[step.stream] < FOREVER:
            seen[step.stream] = ctis[step.stream]
        times.append(final(case.plan, arrived, ctis, seen)[1])
    return final(case.plan, arrived, ctis, seen)[0], _distinct(times)


def _on_time(event: Event, cti: int, late: str) -> Event | None:
    vs, ve, payload = event
    if vs >= cti:
        return event
    if late == "fail":
        raise DataError("DATA.LATE", where="the case", vs=show_instant(vs), cti=show_instant(cti))
    return (cti, ve, payload) if late == "adjust" and ve > cti else None


def _distinct(times: list[int]) -> list[int]:
    found: list[int] = []
    for time in times:
        if time != (found[-1] if found else BEGINNING):
            found.append(time)
    return found


# -- by an app ---------------------------------------------------------------------------------------------


def _play(cases: Sequence[Case], mode: str) -> Iterator[Found | Exception]:
    """On Spark many cases share an app, for starting one takes long; after a failure each runs alone."""
    size = TOGETHER if mode in ("drain", "batch") else 1
    for at in range(0, len(cases), size):
        group = cases[at : at + size]
        try:
            yield from [_reference(case) for case in group] if mode == "reference" else _by_app(group, mode)
        except Exception as error:  # a case must not end the run of the others
            if size == 1:
                yield error
            else:
                yield from (_alone(case, mode) for case in group)


def _alone(case: Case, mode: str) -> Found | Exception:
    try:
        return _by_app([case], mode)[0]
    except Exception as error:
        return error


def _by_app(cases: Sequence[Case], mode: str) -> list[Found | Exception]:
    """In a store of their own. What is about times is run after every step, the rest once."""
    with tempfile.TemporaryDirectory(prefix="waterclock-case-") as folder:
        app, sources = _app(cases, folder)
        errors: dict[str, WaterclockError] = {}
        times: dict[str, list[int]] = {case.name: [] for case in cases}
        timed = {case.name for case in cases if case.expected_ctis is not None}
        for turn in range(max(len(case.steps) if case.name in timed else 1 for case in cases)):
            fed = {case.name: case.steps[turn : turn + 1] if case.name in timed else case.steps for case in cases}
            for case in cases:
                if case.name not in errors and (case.name in timed or turn == 0):
                    try:
                        for step in fed[case.name]:
                            _feed(sources[step.stream], step)
                    except WaterclockError as error:
                        errors[case.name] = error
            if len(errors) == len(cases):
                break
            handle = app.run(mode=mode)
            if mode == "drain":
                handle.wait()
            for name in timed:
                times[name] += [_cti(app, name) for step in fed[name] if step.cti is not None]
        return [
            errors[case.name]
            if case.name in errors
            else (_events(handle.frame(case.name)), _distinct(times[case.name]))
            for case in cases
        ]


def _app(cases: Sequence[Case], folder: str) -> tuple[App, dict[str, SourceStream]]:
    app = App("conformance", Path(folder) / "store", master=MASTER, allow_unbounded=True)
    sources: dict[str, SourceStream] = {}
    for case in cases:
        for stream, schema in case.inputs.items():
            sources[stream] = app.stream(
                stream, dict(schema), START, end=END, slack=None, late=case.late, max_ahead=None
            )  # fmt: skip
        Stream(app, case.plan).into(case.name)
    return app, sources


def _feed(source: SourceStream, step: Step) -> None:
    if step.events:
        source.push([payload for _, _, payload in step.events])
    if step.cti == FOREVER:
        source.end()
    elif step.cti is not None:
        source.advance(step.cti)


def _cti(app: App, name: str) -> int:
    catalog = Catalog.open(app.store, create=False)
    try:
        return catalog.streams.get(name).cti
    finally:
        catalog.close()


def _events(frame: pl.DataFrame) -> list[Event]:
    return [(row.pop(VS), row.pop(VE), row) for row in frame.iter_rows(named=True)]
