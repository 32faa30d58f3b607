"""One cluster for all of these tests: it takes longer to start than they do."""

from __future__ import annotations

from collections.abc import Iterator

import psutil
import pytest
from pyspark.sql import SparkSession

import waterclock.spark
from waterclock.runtime.spark import session

MASTER = "local-cluster[2,1,1024]"
SETTINGS = {"spark.driver.memory": "1g", "spark.executor.memory": "900m"}


@pytest.fixture(scope="package", autouse=True)
def spark() -> Iterator[SparkSession]:
    """Apps with the same settings, and questions, take its context."""
    own = SparkSession(session.context("test", MASTER, SETTINGS))
    waterclock.spark.register(own)
    yield own
    session.stop()


def executors() -> list[psutil.Process]:
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if "CoarseGrainedExecutorBackend" in " ".join(process.cmdline()):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return found
