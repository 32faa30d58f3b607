"""The case file in two ways of running, and that the runner can tell right from wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from waterclock.cli.main import main
from waterclock.conformance import Outcome, read_cases, run_cases

CASES = Path(__file__).parents[1] / "cases" / "temporal.json"


@pytest.mark.parametrize("mode", ["reference", "offline"])
def test_the_case_file(mode: str) -> None:
    outcomes = list(run_cases(read_cases(CASES), mode))
    assert len(outcomes) >= 114
    assert not [f"{outcome.id}: {outcome.reason}" for outcome in outcomes if outcome.status != "passed"]


def row(vs: int, ve: int | str, **payload: Any) -> dict[str, Any]:
    return {"vs": vs, "ve": ve, "payload": payload}


def case(operator: str, params: dict[str, Any], rows: Any, expected: Any, **more: Any) -> dict[str, Any]:
    inputs = rows if isinstance(rows, dict) else {"input": rows}
    return {"id": "one", "operator": operator, "params": params, "inputs": inputs, "expected": expected, **more}


def outcome(tmp_path: Path, raw: dict[str, Any], mode: str = "reference") -> Outcome:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps([raw]))
    (found,) = run_cases(read_cases(path), mode)
    return found


COUNT = {"aggs": {"c": ["count"]}}
PASS: dict[str, dict[str, Any]] = {
    "numbers": case("filter", {"predicate": [">", "x", 1]}, [row(0, 1, x=5)], [row(0, 1, x=5.0)]),
    "nearly": case("project", {"fields": {"x": "x"}}, [row(0, 1, x=0.1 + 0.2)], [row(0, 1, x=0.3)]),
    "rounded down": case(
        "project", {"fields": {"a": ["//", "x", 4], "b": ["%", "x", 4]}}, [row(0, 1, x=-7)], [row(0, 1, a=-2, b=1)]
    ),
    "nothing came": case("snapshot_aggregate", {"aggs": {"s": ["sum", "x"]}}, [], []),
    "only nulls": case("snapshot_aggregate", {"aggs": {"s": ["sum", "x"]}}, [row(0, 2, x=None)], [row(0, 2, s=None)]),
    "mixed numbers": case("filter", {"predicate": ["<", "x", 2]}, [row(0, 1, x=1), row(0, 1, x=2.5)], [row(0, 1, x=1)]),
    "forever": case("set_duration", {"duration": "inf"}, [row(3, 4, x=1)], [row(3, "inf", x=1)]),
    "no duration": case("set_duration", {"duration": 0}, [row(3, 4, x=1)], []),
    "both lifetimes": case(
        "alter_lifetime",
        {"start_expr": ["+", "vs", 2], "duration_expr": ["-", "ve", "vs"]},
        [row(3, 7, x=1)],
        [row(5, 9, x=1)],
    ),
    "elements": case(
        "select_many",
        {"field": "v", "as": "x"},
        [row(0, 2, v=[1, 2])],
        [row(0, 2, v=[1, 2], x=1), row(0, 2, v=[1, 2], x=2)],
    ),
    "tumbling": case("tumbling_aggregate", {"width": 5, **COUNT}, [row(1, 2, x=1)], [row(0, 5, c=1)]),
    "hopping holds": case(
        "hopping_aggregate", {"width": 2, "hop": 1, **COUNT}, [row(0, 1, x=1)], [row(1, 2, c=1), row(2, 3, c=1)]
    ),
    "with itself": case(
        "pipeline",
        {
            "steps": [
                {"op": "set_duration", "duration": "inf"},
                {"op": "clip_join", "left_key": ["k"], "right_key": ["k"]},
            ]
        },
        [row(1, 2, k="a"), row(4, 5, k="a")],
        [row(1, 4, k="a"), row(4, "inf", k="a")],
    ),
    "one late": case(
        "filter",
        {"predicate": [">", "x", 0]},
        [row(5, 6, x=1), row(1, 2, x=1)],
        None,
        ctis={"input": [{"after": 1, "t": 5}]},
        expected_error=True,
    ),
    "thrown": case(
        "ingress",
        {"policy": "throw", "late_bound": "cti"},
        [{"kind": "cti", "t": 5}, {"kind": "interval", **row(4, 9, p=1)}],
        None,
        expected_error=True,
    ),
    "refused": case(
        "alter_lifetime", {"start_expr": ["-", 0, "vs"], "duration": 1}, [row(0, 1, x=1)], None, expected_error=True
    ),
}


@pytest.mark.parametrize("name", PASS)
@pytest.mark.parametrize("mode", ["reference", "offline"])
def test_passes(name: str, mode: str, tmp_path: Path) -> None:
    found = outcome(tmp_path, PASS[name], mode)
    assert found.status == "passed", found.reason


CTI = {"input": [{"after": 1, "t": 3}]}
FAIL: dict[str, tuple[dict[str, Any], str]] = {
    "other value": (
        case("shift", {"by": 1}, [row(0, 1, x=1)], [row(1, 2, x=2)]),
        "expected [1, 2) x=2\nactual   [1, 2) x=1",
    ),
    "other time": (case("shift", {"by": 1}, [row(0, 1, x=1)], [row(1, 3, x=1)]), "expected [1, 3) x=1"),
    "one too few": (case("shift", {"by": 0}, [row(0, 1, x=1)], [row(0, 1, x=1)] * 2), "expected [0, 1) x=1"),
    "one too many": (case("shift", {"by": 0}, [row(0, 1, x=1)] * 2, [row(0, 1, x=1)]), "actual   [0, 1) x=1"),
    "true is not one": (case("shift", {"by": 0}, [row(0, 1, x=True)], [row(0, 1, x=1)]), "actual   [0, 1) x=True"),
    "another field": (case("shift", {"by": 0}, [row(0, 1, x=1)], [row(0, 1, y=1)]), "expected [0, 1) y=1"),
    "other CTIs": (
        case("shift", {"by": 1}, [row(0, 1, x=1)], [row(1, 2, x=1)], ctis=CTI, expected_ctis=[3]),
        "expected CTIs 3\nactual   CTIs 4",
    ),
    "no error": (case("shift", {"by": 1}, [row(0, 1, x=1)], None, expected_error=True), "expected an error"),
    "operator": (case("sharpen", {}, [row(0, 1, x=1)], []), "unknown operator 'sharpen'"),
    "parameter": (case("shift", {"by": 1, "to": 2}, [row(0, 1, x=1)], []), "shift has no parameter 'to'"),
    "no parameter": (case("shift", {}, [row(0, 1, x=1)], []), "shift needs 'by'"),
    "aggregate": (
        case("snapshot_aggregate", {"aggs": {"c": ["mode", "x"]}}, [row(0, 1, x=1)], []),
        "unknown aggregate",
    ),
    "expression": (case("filter", {"predicate": ["~", "x"]}, [row(0, 1, x=1)], []), "unknown expression"),
    "field": (case("filter", {"predicate": [">", "y", 1]}, [row(0, 1, x=1)], []), "no column 'y'"),
    "not a case": ({"id": "one", "operator": "shift"}, "cannot be read"),
}


@pytest.mark.parametrize("name", FAIL)
def test_fails(name: str, tmp_path: Path) -> None:
    raw, reason = FAIL[name]
    found = outcome(tmp_path, raw)
    assert found.status == "failed"
    assert reason in found.reason


SKIP = [
    case("edges_to_intervals", {}, [{"kind": "start", "vs": 1, "payload": {"x": 1}}], []),
    case("ingress", {"policy": "drop", "late_bound": "high_watermark"}, [{"kind": "interval", **row(0, 1, x=1)}], []),
    case("ingress", {"policy": "drop"}, [{"kind": "end", "vs": 1, "ve": 2, "payload": {"x": 1}}], []),
]


@pytest.mark.parametrize("raw", SKIP, ids=["edges", "bound", "item"])
def test_skips_what_is_not_for_us(raw: dict[str, Any], tmp_path: Path) -> None:
    assert outcome(tmp_path, raw).status == "skipped"


def test_a_batch_skips_what_is_about_time(tmp_path: Path) -> None:
    raw = case("shift", {"by": 1}, [row(0, 1, x=1)], [row(1, 2, x=1)], ctis=CTI)
    assert outcome(tmp_path, raw, "batch").status == "skipped"


def test_the_command(tmp_path: Path) -> None:
    good, bad, broken = tmp_path / "good.json", tmp_path / "bad.json", tmp_path / "broken.json"
    good.write_text(json.dumps([PASS["numbers"], SKIP[0]]))
    bad.write_text(json.dumps([PASS["numbers"], FAIL["other value"][0]]))
    broken.write_text("[")
    runner = CliRunner()
    found = runner.invoke(main, ["conformance", str(good)])
    assert (found.exit_code, found.output) == (0, "1 passed, 0 failed, 1 skipped\n")
    found = runner.invoke(main, ["conformance", str(bad)])
    assert found.exit_code == 1
    assert found.output.startswith("failed one\n    expected [1, 2) x=2\n    actual   [1, 2) x=1\n")
    assert found.output.endswith("1 passed, 1 failed, 0 skipped\n")
    for arguments in ([str(broken)], [str(good), "--mode", "guess"], [str(tmp_path / "none.json")]):
        assert runner.invoke(main, ["conformance", *arguments]).exit_code == 2
