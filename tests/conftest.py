"""Fixtures for all layers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import waterclock as wc
from waterclock.optimizer import parallelism

SPARK = {"spark.driver.memory": "1g"}


@pytest.fixture(autouse=True)
def _no_store_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WATERCLOCK_STORE", raising=False)


@pytest.fixture
def make_app(tmp_path: Path) -> Callable[..., wc.App]:
    """Apps over one store in this test's folder, on ``local[2,4]`` so that retries happen."""

    def make(name: str = "test", store: str = "store", **options: object) -> wc.App:
        return wc.App(name, tmp_path / store, master="local[2,4]", spark=SPARK, **options)  # type: ignore[arg-type]

    return make


@pytest.fixture
def many_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a tiny epoch gets as many tasks as allowed, so that the exchange is used."""
    monkeypatch.setattr(parallelism, "SHARE", 50)


os.environ.setdefault("PYTHONFAULTHANDLER", "1")
