"""Every golden case gives its golden text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.harness import KINDS, ROOT, cases, made, name_of


@pytest.mark.parametrize("path", cases(), ids=name_of)
def test_golden(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    golden = path.with_suffix(".out")
    assert golden.exists(), "make golden writes it"
    assert made(path) == golden.read_text()


def test_every_folder_is_a_kind_and_every_golden_has_its_case() -> None:
    assert {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"} == set(KINDS)
    for golden in ROOT.rglob("*.out"):
        assert golden.with_suffix(".sql").exists(), golden
