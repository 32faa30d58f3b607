"""Hints of errors at run time say what to write in Python and in SQL: whoever reads them may have written either."""

from __future__ import annotations

import re

import pytest

import waterclock as wc
from waterclock.errors import CATALOGUE

AT_RUN_TIME = ("DATA.", "STREAM.")
CLAUSE = re.compile(r"(?:BAD|LATE|AHEAD|MAX AHEAD|MAX JUMP|WATERMARK|RETAIN) [^,;]+?(?= or |,|$)")
OPTION = re.compile(r"\b[a-z_]+=['A-Z]|\.\w+\('")


@pytest.mark.parametrize("code", [code for code in CATALOGUE if code.startswith(AT_RUN_TIME)])
def test_an_option_is_there_in_both_spellings(code: str) -> None:
    hint = CATALOGUE[code].hint
    assert bool(OPTION.search(hint)) <= ("in SQL: " in hint)


def test_the_clauses_that_hints_name_are_clauses() -> None:
    named = set()
    for condition in CATALOGUE.values():
        for shown in re.findall(r"in SQL: ([^)]*)\)", condition.hint):
            named |= set(CLAUSE.findall(shown))
    assert {"BAD SKIP", "LATE DIVERT", "AHEAD QUARANTINE", "MAX JUMP 7d", "WATERMARK ts - 5s", "RETAIN 30d"} <= named
    for clause in named:
        watermark = "" if clause.startswith("WATERMARK") else "WATERMARK ts "
        wc.sql(f"CREATE STREAM s (a INT, ts TIMESTAMP) POINT AT ts {watermark}{clause};")
