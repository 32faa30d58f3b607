"""What users meet in an editor says what it does."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

import waterclock as wc
from waterclock.lang.fluent import Grouped, Windowed
from waterclock.testing import TestStream


@pytest.mark.parametrize(
    "kind",
    [wc.Stream, wc.SourceStream, Grouped, Windowed, wc.App, wc.Handle, wc.DStream, wc.Diff, wc.Timeline, TestStream],
    ids=lambda kind: kind.__name__,
)
def test_every_public_method_has_a_docstring(kind: type) -> None:
    assert not (kind.__doc__ or f"{kind.__name__}(").startswith(f"{kind.__name__}("), (
        "dataclasses make one of their own"
    )
    for name, member in inspect.getmembers(kind):
        if not name.startswith("_") and (inspect.isroutine(member) or isinstance(member, property)):
            assert inspect.getdoc(member), f"{kind.__name__}.{name}"


def test_a_handle_shows_where_its_app_stands(make_app: Callable[..., wc.App]) -> None:
    app = make_app()
    rows = app.stream("rows", {"t": int}, time="t")
    rows.into("out")
    rows.push([{"t": 1}, {"t": 2}])
    rows.end()
    assert repr(app.run(mode="offline")) == f"<Handle of {app.name!r}, stopped: out (2 rows)>"
