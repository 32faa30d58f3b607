"""The case file on local Spark."""

from __future__ import annotations

import pytest

from tests.unit.test_conformance import CASES
from waterclock.conformance import read_cases, run_cases

pytestmark = pytest.mark.spark


def test_the_case_file() -> None:
    outcomes = list(run_cases(read_cases(CASES), "drain"))
    assert len(outcomes) >= 114
    assert not [f"{outcome.id}: {outcome.reason}" for outcome in outcomes if outcome.status != "passed"]
