"""Imports go one way: each rung may use only the rungs above it. Only packages named spark import pyspark."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "waterclock"
LADDER = [
    "errors", "time", "schema", "hashing", "crashpoints", "usercode",
    "expr", "functions", "plan", "lang", "optimizer", "reference",
    "storage", "streams", "state", "operators", "catalog", "connect",
    "runtime", "declared", "handle", "batch", "spark", "asking", "explain", "programs", "launch", "past",
    "questions", "app", "loading", "results", "timeline", "compare", "conformance", "testing", "cli",
]  # fmt: skip
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def rung(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_from_above(path: Path) -> None:
    mine = LADDER.index(rung(path))
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "waterclock" and len(parts) > 1 and parts[1] in LADDER:
            assert LADDER.index(parts[1]) <= mine, f"{path.name} imports {name}, which is below it"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_spark_package_imports_pyspark(path: Path) -> None:
    if "spark" not in path.parts:
        assert not any(name.split(".")[0] in ("pyspark", "py4j") for name in imports(path))


def test_every_rung_exists() -> None:
    rungs = {rung(path) for path in MODULES}
    assert rungs <= set(LADDER), rungs - set(LADDER)


@pytest.mark.parametrize("folder", ["waterclock", "tests", "bench", "examples", "scripts"])
def test_files_stay_short(folder: str) -> None:
    for path in (PACKAGE.parent / folder).rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 600, f"{path} is past 600 lines: split it"
