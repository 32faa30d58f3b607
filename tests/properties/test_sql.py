"""Whatever is written, a program gives our errors with a place in the text, and nothing else."""

from __future__ import annotations

import random
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import waterclock as wc
from tests.properties.test_app import quick
from waterclock.errors import SqlError
from waterclock.lang.sql.dialect import tokenize
from waterclock.lang.sql.format import formatted
from waterclock.lang.sql.source import Source
from waterclock.programs import load

GOLDEN = Path(__file__).parents[1] / "golden"
PRELUDE = (GOLDEN / "errors" / "desk" / "prelude.sql").read_text()
PROGRAMS = [path.read_text() for path in sorted(GOLDEN.rglob("*.sql")) if path.stem != "prelude"]


def pieces(text: str) -> list[str]:
    """The tokens of a text, each with the white space before it."""
    try:
        tokens = tokenize(Source(text))
    except SqlError:
        return re.findall(r"\s*\S+", text)
    ends = [0, *(token.end + 1 for token in tokens)]
    return [text[start:end] for start, end in pairwise(ends)]


WORDS = sorted({piece.strip() for program in PROGRAMS for piece in pieces(program)})


def check(text: str) -> None:
    """Loads a text as a whole program, and behind the streams that the cases know."""
    for prelude in ("", PRELUDE):
        app = wc.App("fuzz", "unused")
        if prelude:
            app.sql(prelude)
        slacks = {name: declaration.waits for name, (declaration, _) in app._streams.items()}
        loaded = load(app, Source(text, "x.sql"), {}, app._named(), slacks, whole=not prelude)
        for error in loaded.errors:
            assert type(error) is SqlError
            assert error.code.startswith("SQL.")
            assert re.search(r"  --> x\.sql:\d+:\d+\n  \d+ \| .*\n +\| *\^~*$", error.message), error.message
        if not loaded.errors:
            app.explain()


def mutated(text: str, seed: int) -> str:
    rng = random.Random(seed)
    parts = pieces(text)
    for _ in range(rng.randrange(1, 4)):
        if not parts:
            break
        at, other = rng.randrange(len(parts)), rng.randrange(len(parts))
        change = rng.randrange(5)
        if change == 0:
            del parts[at]
        elif change == 1:
            parts[at], parts[other] = parts[other], parts[at]
        elif change == 2:
            parts.insert(at, parts[at])
        elif change == 3:
            parts[at] = " " + rng.choice(WORDS)
        else:
            parts.insert(at, " " + rng.choice(WORDS))
    return "".join(parts)


@quick(300)
@given(st.text(max_size=60))
def test_random_text(text: str) -> None:
    check(text)


@quick(400)
@given(st.lists(st.sampled_from(WORDS), max_size=25))
def test_random_words(chosen: list[str]) -> None:
    check(" ".join(chosen))


@quick(1500)
@given(st.sampled_from(PROGRAMS), st.integers(0, 2**32))
def test_mutated_programs(program: str, seed: int) -> None:
    check(mutated(program, seed))


COMMENTS = [" -- one\n", "\n-- two\n", " /* three */ ", "\n/* four */\n", "\n/* five\n   six */\n", "\n\n-- seven\n\n"]


@quick(600)
@given(st.sampled_from(PROGRAMS), st.lists(st.tuples(st.integers(0, 60), st.sampled_from(COMMENTS)), max_size=3))
def test_the_layout_keeps_words_and_comments_and_is_stable(program: str, comments: list[tuple[int, str]]) -> None:
    parts = pieces(program)
    for at, comment in comments:
        parts.insert(min(at, len(parts)), comment)
    text = "".join(parts)
    try:
        laid_out = formatted(Source(text))
    except SqlError:
        return  # an error case: nothing is laid out
    assert formatted(Source(laid_out)) == laid_out
    assert words(laid_out) == words(text)
    for _, comment in comments:
        assert laid_out.count(comment.strip()) == text.count(comment.strip())


def words(text: str) -> list[str]:
    return [token.text.upper() for token in tokenize(Source(text))]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "(" * 5000 + "1" + ")" * 5000 + " AS x FROM clicks",
        "SELECT " + "+".join(["n"] * 5000) + " AS x FROM clicks",
        "SELECT " + "NOT " * 5000 + "TRUE AS x FROM clicks",
        "SELECT " + "-" * 3 + "n AS x FROM clicks",
        "SELECT " + "- " * 5000 + "n AS x FROM clicks",
        "SELECT n FROM " + "SHIFT(" * 5000 + "clicks" + ", 1s)" * 5000,
        "SELECT n FROM " + "(SELECT n FROM " * 300 + "clicks" + ")" * 300,
        "SELECT " + "CASE WHEN TRUE THEN " * 500 + "1" + " END" * 500 + " AS x FROM clicks",
        "SELECT CAST(n AS " + "ARRAY<" * 500 + "INT" + ">" * 500 + ") AS x FROM clicks",
        "SELECT n FROM clicks" + " UNION ALL SELECT n FROM clicks" * 1000,
        "SELECT n FROM clicks c0" + "".join(f" JOIN clicks c{i} ON c0.n = c{i}.n" for i in range(1, 200)),
        "".join(f"q{i} = SELECT n FROM {'clicks' if i == 0 else f'q{i - 1}'} WHERE n > {i};\n" for i in range(2000)),
    ],
    ids=lambda text: text[:30],
)
def test_deep_programs(text: str) -> None:
    check(text)
