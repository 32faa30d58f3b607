"""A question that executors in other processes answer."""

from __future__ import annotations

from pathlib import Path

import pytest

import waterclock as wc
from tests.cluster.conftest import MASTER, SETTINGS
from tests.spark.test_query import QUESTIONS, store

pytestmark = pytest.mark.cluster
__all__ = ["store"]


def test_the_same_answer(store: Path) -> None:
    join = QUESTIONS[5]
    here = wc.query(store, join, on="here")
    there = wc.query(store, join, on="spark", master=MASTER, spark=SETTINGS)
    assert there.sort(there.columns).equals(here.sort(here.columns))
    assert here.height
