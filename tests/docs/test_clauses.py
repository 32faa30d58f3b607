"""The reference of clauses has everything that the parser knows, and is as its table says."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import waterclock as wc
from waterclock.lang.sql import clauses
from waterclock.lang.sql.bind.lifetimes import FUNCTIONS
from waterclock.lang.sql.bind.relations import WINDOW_FUNCTIONS
from waterclock.lang.sql.functions import TIME_FUNCTIONS
from waterclock.lang.sql.parse import queries, statements
from waterclock.programs import SINKS, SOURCES, AppTarget

ROOT = Path(__file__).parents[2]
PARSER = ROOT / "waterclock" / "lang" / "sql" / "parse"
PAGE = ROOT / "docs" / "clauses.md"
ONLY_TO_REFUSE = frozenset("FOR IF MATCH_CONDITION NULLS OFFSET OVER RECURSIVE TO TOP".split())
"""Words that the parser looks for so as to say what to write instead, besides those in tables of such words."""
IN_QUESTIONS = frozenset("EPOCH OF SYSTEM_TIME".split())
"""Words of queries that are asked once: docs/query.md."""
READING = ("accept", "expect", "sees", "keyword")


def words_of_the_parser() -> set[str]:
    """Every word that its code asks for, and those of its tables."""
    found: set[str] = set()
    for file in PARSER.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READING:
                found |= {
                    arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
                }
    for words, kind in queries._JOINS.items():
        if " " not in kind or kind.startswith("asof"):
            found |= set(words)
    for kind, choices in statements._POLICIES.items():
        found |= {kind, *choices}
    return found | set(queries.WINDOWS) | set(queries._RESULTS) | set(queries._STARTS)


def words_of_the_reference() -> set[str]:
    shown = [clause.syntax for group in clauses.REFERENCE.values() for clause in group.clauses.values()]
    return {word for syntax in shown for word in re.findall(r"[A-Z_]+", syntax)}


def test_every_word_of_the_parser_is_in_a_syntax() -> None:
    words = {word for word in words_of_the_parser() if word.isupper()}
    assert {"WATERMARK", "SESSION", "ASOF", "LATENESS", "QUARANTINE", "TIES", "FILTER"} <= words
    assert words - words_of_the_reference() - ONLY_TO_REFUSE - IN_QUESTIONS == set()
    assert words >= ONLY_TO_REFUSE


@pytest.mark.parametrize(
    ("table", "known"),
    [
        (clauses.STATEMENTS, statements.STATEMENTS),
        (clauses.STREAM, statements.CLAUSES),
        (clauses.QUERY, ("SELECT", "EXPLODE", "FROM", *queries.CLAUSES, "WITH name AS", "UNION")),
        (clauses.WINDOWS, queries.WINDOWS),
        (clauses.JOINS, (*queries.JOIN_NAMES, "USING")),
        (clauses.LIFETIMES, [name.upper() for name in FUNCTIONS]),
        (clauses.TIMES, [name.upper() for name in TIME_FUNCTIONS]),
        (clauses.OPTIONS, AppTarget(wc.App(), whole=True).options),
        (clauses.SOURCES, SOURCES),
        (clauses.SINKS, SINKS),
        (clauses.ELSEWHERE, WINDOW_FUNCTIONS),
    ],
)
def test_every_entry_of_the_tables_is_there(table: dict[str, object], known: list[str]) -> None:
    assert set(table) == set(known)


@pytest.mark.parametrize("kind", statements._POLICIES)
def test_every_choice_of_a_policy_is_there(kind: str) -> None:
    assert set(statements._POLICIES[kind]) <= set(re.findall(r"\w+", clauses.STREAM[kind].syntax))


def test_every_example_uses_its_clause() -> None:
    for group in clauses.REFERENCE.values():
        for name, clause in group.clauses.items():
            first = re.findall(r"[A-Za-z_]+", name.upper())[0]
            assert first in clause.example.upper() or name == "name = SELECT ...", name


def test_the_page_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "clauses.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_no_example_is_without_a_result() -> None:
    assert "```text output\n```" not in PAGE.read_text()
