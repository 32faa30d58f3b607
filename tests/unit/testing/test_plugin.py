"""The pytest plugin: its fixture, its files, and that others do not notice it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.unit.testing.programs import CLICKS
from waterclock.testing.golden import SUFFIX

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[3]
PLUGIN = ("-p", "pytest_waterclock", "-p", "no:cacheprovider")

TEST = """
def test_late(ts):
    ts.load("clicks.sql").feed("clicks", "user | amount | ts\\n ann | 1 | 10:00:01").advance(minutes=5)
    ts.expect("per_user", "user | n\\n ann | {n}")


def test_every_test_has_its_own(ts):
    ts.load("clicks.sql").expect("per_user", [])
"""


def test_the_fixture(pytester: pytest.Pytester) -> None:
    pytester.makefile(".sql", clicks=CLICKS)
    pytester.makepyfile(TEST.format(n=1))
    pytester.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=2)


def test_a_program_beside_the_test(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("deep")
    (folder / "clicks.sql").write_text(CLICKS)
    (folder / "test_clicks.py").write_text(TEST.format(n=1))
    pytester.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=2)


def test_what_is_loaded_does_not_depend_on_the_working_directory(
    pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pytester.mkdir("project")
    (folder / "tests").mkdir()
    (folder / "clicks.sql").write_text(CLICKS)
    (folder / "tests" / "test_clicks.py").write_text(TEST.format(n=1).replace("clicks.sql", "../clicks.sql"))
    (folder / "tests" / "clicks.wctest").write_text("program ../clicks.sql\ntest good\nend\nexpect per_user\n")
    elsewhere = tmp_path / "elsewhere" / "inside"
    elsewhere.mkdir(parents=True)
    (elsewhere.parent / "clicks.sql").write_text("this is another one")
    for cwd in (elsewhere, folder, folder / "tests"):
        monkeypatch.chdir(cwd)
        pytester.runpytest_inprocess(*PLUGIN, folder).assert_outcomes(passed=3)


def test_a_program_that_is_not_there(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST.format(n=1))
    result = pytester.runpytest_inprocess(*PLUGIN)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [f"*TEST.NO_PROGRAM* There is no program clicks.sql: looked for {pytester.path / 'clicks.sql'}."]
    )


def test_a_difference_is_all_that_is_shown(pytester: pytest.Pytester) -> None:
    pytester.makefile(".sql", clicks=CLICKS)
    pytester.makepyfile(TEST.format(n=2))
    result = pytester.runpytest_inprocess(*PLUGIN)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([
        "E*waterclock.testing.differences.Differs: per_user is not as expected: 1 missing (-), 1 unexpected (+)",
        "E           user | n",
        "E         + ann  | 1",
        "E         - ann  | 2",
        "E         The time (CTI) of per_user: 10:05",
    ])  # fmt: skip
    assert "harness.py" not in result.stdout.str(), "the inside of the kit is not shown"


def test_files_of_tests_are_collected(pytester: pytest.Pytester) -> None:
    pytester.makefile(".sql", clicks=CLICKS)
    pytester.makefile(
        SUFFIX,
        clicks="program clicks.sql\ntest good\nend\ntest bad\nend\nexpect per_user\n  user | n\n  ann | 2",
        broken="program clicks.sql\nfed",
    )
    result = pytester.runpytest_inprocess(*PLUGIN, "clicks.wctest")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["line 6: per_user is not as expected: 1 missing (-), 0 unexpected (+)"])
    result = pytester.runpytest_inprocess(*PLUGIN, "broken.wctest")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*TEST.BAD_FILE*line 2: there is no 'fed'.*"])


def test_others_do_not_notice_it() -> None:
    code = "import sys, pytest_waterclock; assert not {'waterclock', 'polars', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_it_is_found_when_waterclock_is_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    entry = project["project"]["entry-points"]["pytest11"]
    # One name: a plugin that is also loaded with -p is not loaded twice.
    assert entry == {"pytest_waterclock": "pytest_waterclock"}
    assert project["tool"]["setuptools"]["py-modules"] == ["pytest_waterclock"]
