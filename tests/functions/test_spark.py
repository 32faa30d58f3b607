"""The Spark SQL form of every function gives what was recorded of Spark's own."""

from __future__ import annotations

import pytest

from tests.functions.cases import CASES
from tests.functions.golden import on_spark, plain, recorded
from waterclock.batch.expressions import to_sql

pytestmark = pytest.mark.spark


def test_the_record_is_of_this_spark() -> None:
    found, golden = on_spark(plain), recorded()
    assert {key for key in golden if golden[key] != found.get(key)} == set()


def test_the_spark_form() -> None:
    found, golden = on_spark(to_sql), recorded()
    assert {str(case) for case in CASES if golden[str(case)] != found[str(case)]} == set()
