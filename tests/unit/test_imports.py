"""What is imported when: a command does not wait for what it does not need."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

import waterclock as wc
from tests.unit.past.programs import program, run
from waterclock.cli.main import COMMANDS, main

CALL = """
import json, sys
from waterclock.cli.main import main
main({words!r}, standalone_mode=False)
print()
print(json.dumps(sorted(sys.modules)))
"""
RUNS = {
    "waterclock.launch",
    "waterclock.handle",
    "waterclock.runtime.engine",
    "waterclock.runtime.keeper",
    "http.server",
}
OTHERS = {
    "pyspark", "py4j", "psycopg", "rich", "pytest", "waterclock.asking", "waterclock.batch", "waterclock.compare",
    "waterclock.conformance", "waterclock.connect.files", "waterclock.explain", "waterclock.reference",
    "waterclock.testing", "waterclock.timeline",
}  # fmt: skip
TEXT = {"sqlglot", "waterclock.lang.sql.parse", "waterclock.lang.sql.bind", "waterclock.programs"}


def imported(*words: object) -> set[str]:
    """By a command, in a process of its own."""
    code = CALL.format(words=[str(word) for word in words])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, input="quit\n", check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_debug_imports_what_it_needs(tmp_path: Path) -> None:
    file = program(tmp_path)
    run(file, 5, 12)
    found = imported("debug", file, "--vertex", "paid", "--epoch", 1, "-c", "run; steps; state; output")
    assert "waterclock.past.debug" in found
    assert not found & (RUNS | OTHERS | TEXT)


def test_help_imports_next_to_nothing() -> None:
    found = imported("--help")
    assert not found & (RUNS | OTHERS | TEXT | {"polars", "numpy", "pyarrow", "waterclock.app"})


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_where_it_is_said_to_be(name: str) -> None:
    found = main.get_command(click.Context(main), name)
    assert found is not None
    assert found.name == name
    assert found.help


def test_a_command_that_is_not_there() -> None:
    assert main.get_command(click.Context(main), "dbug") is None


def test_every_name_is_what_type_checkers_see() -> None:
    tree = ast.parse(Path(wc.__file__).read_text())
    (checked,) = (node for node in tree.body if isinstance(node, ast.If))
    names = {
        alias.name: each.module for each in checked.body if isinstance(each, ast.ImportFrom) for alias in each.names
    }
    assert set(names) == set(wc.__all__)
    homes = {name: f"waterclock.{home}" for home, found in wc._HOMES.items() for name in found.split()}
    assert homes | {"functions": "waterclock"} == names
    assert all(getattr(wc, name) is not None for name in wc.__all__)
    assert set(wc.__all__) <= set(dir(wc))


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'waterclock' has no attribute 'cuont'"):
        wc.cuont  # noqa: B018
