"""Thirty kills on every change; ``make chaos`` does many more, and those of Spark's processes."""

from __future__ import annotations

import pytest

from tests.chaos.run import SCENARIOS, storm
from tests.conftest import DATABASES

KILLS = {
    "stateless/local": 4, "windows/local": 4, "joins/loss": 6, "forty/local": 3, "cycle/loss": 4, "windows/drivers": 5,
    "windows/server": 4,
}  # fmt: skip


@pytest.mark.parametrize("name", KILLS)
def test_the_answer_is_that_of_an_undisturbed_run(name: str) -> None:
    if name.endswith("server") and len(DATABASES) == 1:
        pytest.skip("PostgreSQL is not installed")
    result = storm(SCENARIOS[name], 1, KILLS[name], print, batch=False)
    assert not result.failure, result.failure
    assert result.kills >= KILLS[name]
