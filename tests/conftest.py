"""Fixtures for all layers."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import waterclock as wc
from scripts.postgres import HOW, programs
from tests.postgres import Server
from waterclock.optimizer import parallelism

SPARK = {"spark.driver.memory": "1g"}
MEMORY = Path("/dev/shm")
ROOM = 4 << 30
"""Far more than was seen in use (tens of MB), but a container's usual 64 MB could run full."""


def _stores_in_memory() -> None:
    """Thousands of small stores wait for the disk at every commit, longer than they compute.

    No test asks the disk: a killed process loses nothing that it has written, and a power cut is played by removing it.
    """
    if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)  # for programs that tests start, and for this process


_stores_in_memory()


@pytest.fixture(autouse=True)
def _no_store_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WATERCLOCK_STORE", raising=False)
    monkeypatch.delenv("WATERCLOCK_CATALOG", raising=False)


@pytest.fixture(autouse=True)
def _same_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that is called in this process would slow down all tests behind it."""
    monkeypatch.setattr(os, "nice", lambda by: by)


DATABASES = ("sqlite", "postgres") if programs() else ("sqlite",)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL server for all tests; one that stops it starts it again."""
    if programs() is None:
        pytest.skip("PostgreSQL is not installed")
    started = Server()
    yield started
    started.remove()


@pytest.fixture(scope="session", params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    """Each database that a catalog can be in: its URL, or nothing for SQLite."""
    return "" if request.param == "sqlite" else request.getfixturevalue("server").url


@pytest.fixture
def each_database(database: str, monkeypatch: pytest.MonkeyPatch, _no_store_from_the_environment: None) -> str:
    """New stores have their catalog in that database."""
    if database:
        monkeypatch.setenv("WATERCLOCK_CATALOG", database)
    return database


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if len(DATABASES) == 1:
        terminalreporter.write_line(
            f"skipped: PostgreSQL is not installed ({HOW}); catalogs were tested on SQLite only"
        )


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
