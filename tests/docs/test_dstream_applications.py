"""Grep, WordCount and TopKCount: the D-Stream and the SQL program give what plain loops give, offline and on Spark."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

import waterclock as wc
from tests.conftest import SPARK
from tests.docs.test_docs import blocks

FOLDER = Path(__file__).parents[2] / "examples" / "dstreams"
SECOND = 1_000_000
Lines = list[dict[str, Any]]
Rows = Counter[tuple[Any, ...]]


def grep(lines: Lines) -> Rows:
    matching = Counter(line["ts"] // SECOND for line in lines if "to be" in line["text"])
    return Counter((second * SECOND, (second + 1) * SECOND, count) for second, count in matching.items())


def counts(lines: Lines) -> dict[int, Counter[str]]:
    """Of the second in which the window ends: how often each word came in the 30 seconds up to its end."""
    found: dict[int, Counter[str]] = defaultdict(Counter)
    for line in lines:
        for second in range(line["ts"] // SECOND, line["ts"] // SECOND + 30):
            found[second].update(line["text"].split(" "))
    return found


def word_count(lines: Lines) -> Rows:
    return Counter(
        (second * SECOND, (second + 1) * SECOND, word, n)
        for second, words in counts(lines).items()
        for word, n in words.items()
    )


def top_k_count(lines: Lines) -> Rows:
    found: Rows = Counter()
    for second, words in counts(lines).items():
        least = sorted(words.values(), reverse=True)[:3][-1]
        found.update((second * SECOND, (second + 1) * SECOND, word, n) for word, n in words.items() if n >= least)
    return found


ANSWERS = {"grep": grep, "word_count": word_count, "top_k_count": top_k_count}


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)


def made(seed: int) -> Lines:
    """A minute and a half of random text, with a silence longer than the window."""
    lines = importlib.import_module("text").lines(95, rate=4, seed=seed)
    first = lines[0]["ts"] // SECOND
    return [line for line in lines if not 25 <= line["ts"] // SECOND - first < 60]


def written(lines: Lines, folder: Path) -> Path:
    file = folder / "lines.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def dstream(name: str, file: Path, store: Path) -> wc.App:
    app = wc.App(name, store, epoch_rows=97)
    lines = importlib.import_module("text").stream(app, str(file))
    program = getattr(importlib.import_module(name), name)
    program(wc.dstream(lines, "1s")).into(name)
    return app


def sql(name: str, file: Path, store: Path) -> wc.App:
    options: dict[str, Any] = {"epoch_rows": 97, "master": "local[2]", "spark": SPARK}
    return wc.sql(FOLDER / f"{name}.sql", {"lines": str(file)}, store=store, **options)


def rows(handle: wc.Handle, name: str) -> Rows:
    return Counter(handle.frame(name).rows())


def test_each_is_there_in_both_forms() -> None:
    assert {path.stem for path in FOLDER.glob("*.sql")} == set(ANSWERS)
    assert {path.stem for path in FOLDER.glob("*.py")} == {*ANSWERS, "text"}
    listed = re.findall(r"\[(\w+\.\w+)\]\(\1\)", (FOLDER / "README.md").read_text())
    assert sorted(listed) == sorted(f"{name}.{kind}" for name in ANSWERS for kind in ("py", "sql"))


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", ANSWERS)
def test_both_forms_give_what_plain_loops_give(name: str, seed: int, tmp_path: Path) -> None:
    lines = made(seed)
    file = written(lines, tmp_path)
    expected = ANSWERS[name](lines)
    assert expected
    assert rows(dstream(name, file, tmp_path / "dstream").run(mode="offline"), name) == expected
    assert rows(sql(name, file, tmp_path / "sql").run(mode="offline"), name) == expected


@pytest.mark.usefixtures("modules")
def test_there_are_ties() -> None:
    ranked = Counter((start, n) for start, _, _, n in top_k_count(made(1)))
    assert max(ranked.values()) > 1


@pytest.mark.spark
@pytest.mark.usefixtures("modules")
def test_top_k_count_on_spark(tmp_path: Path) -> None:
    lines = made(1)
    handle = sql("top_k_count", written(lines, tmp_path), tmp_path / "sql").run(mode="drain")
    assert handle.wait(120)
    assert rows(handle, "top_k_count") == top_k_count(lines)


def test_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(FOLDER.parent)
    commands = [line for block in blocks(FOLDER / "README.md") for line in block.text.splitlines()]
    assert len(commands) > 3
    printed = ""
    for line in commands:
        _, verb, *arguments = shlex.split(line)
        command = {"python": [sys.executable], "waterclock": [sys.executable, "-m", "waterclock.cli.main"]}[verb]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        printed += done.stdout
    assert re.search(r"^\[0, 1\) word=\w+ n=\d+$", printed, re.MULTILINE)
