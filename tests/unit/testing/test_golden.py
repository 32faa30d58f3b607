"""Files of tests, and the command that runs them: what it prints, its exit codes, what it writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.unit.testing.programs import CLICKS, STAYS
from waterclock.cli.main import main

GOOD = """\
# What is left out, and what is not.
program ../clicks.sql
day 2024-02-29

test two windows
feed clicks
  user | amount | ts
  ann  | 3      | 10:00:01
  !crash epoch.before_commit
  ann  | 1      | 10:00:12
expect per_user
  user | n | total | from  | to
  ann  | 1 | 3     | 10:00 | 10:00:10
crash
wait 30s
expect per_user
  user | total
  ann  | 3
  ann  | 1
reference

test nothing comes of nothing
expect per_user
end clicks
expect per_user
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "clicks.sql").write_text(CLICKS)
    (tmp_path / "stays.sql").write_text(STAYS)
    (tmp_path / "tests").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "tests"


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["test", *map(str, arguments)])


def without_times(text: str) -> str:
    return re.sub(r"\(\d[^)]*\)", "(TIME)", text)


def test_tests_pass(project: Path) -> None:
    (project / "clicks.wctest").write_text(GOOD)
    result = call()
    assert result.exit_code == 0, result.output
    assert without_times(result.output) == (
        "ok      tests/clicks.wctest: two windows (TIME)\n"
        "ok      tests/clicks.wctest: nothing comes of nothing (TIME)\n"
        "2 passed, 0 failed\n"
    )
    assert (project / "clicks.wctest").read_text() == GOOD
    assert call("tests/clicks.wctest", project, "--chaos", 5, "--seed", 7).output.endswith("2 passed, 0 failed\n")


FAILING = """\
program ../clicks.sql
feed clicks
  user | amount | ts
  ann  | 3      | 10:00:01
  bob  | 4      | 10:00:02

advance 10:00:10
expect per_user
  user | total | from  | to
  ann  | 5     | 10:00 | 10:00:10
# to the end
end
expect per_user
"""


def test_a_failure_is_shown_and_can_be_taken_over(project: Path) -> None:
    file = project / "sums.wctest"
    file.write_text(FAILING)
    shown = (
        "    line 8: per_user is not as expected: 1 missing (-), 2 unexpected (+)\n"
        "        user | total | from  | to\n"
        "      + ann  | 3     | 10:00 | 10:00:10\n"
        "      - ann  | 5     | 10:00 | 10:00:10\n"
        "      + bob  | 4     | 10:00 | 10:00:10\n"
        "      The time (CTI) of per_user: 10:00:10\n"
        "    line 13: per_user is not as expected: 0 missing (-), 2 unexpected (+)\n"
        "        user | n | total | from  | to\n"
        "      + ann  | 1 | 3     | 10:00 | 10:00:10\n"
        "      + bob  | 1 | 4     | 10:00 | 10:00:10\n"
        "      The time (CTI) of per_user: it has ended\n"
    )
    result = call(file)
    assert (result.exit_code, file.read_text()) == (1, FAILING)
    assert without_times(result.output) == f"FAILED  {file}: sums (TIME)\n{shown}0 passed, 1 failed\n"
    result = call(file, "--update")
    assert result.exit_code == 0
    assert without_times(result.output) == f"UPDATED {file}: sums (TIME)\n{shown}1 passed, 0 failed\n"
    assert (
        file.read_text()
        == """\
program ../clicks.sql
feed clicks
  user | amount | ts
  ann  | 3      | 10:00:01
  bob  | 4      | 10:00:02

advance 10:00:10
expect per_user
  user | total | from  | to
  ann  | 3     | 10:00 | 10:00:10
  bob  | 4     | 10:00 | 10:00:10
# to the end
end
expect per_user
  user | n | total | from  | to
  ann  | 1 | 3     | 10:00 | 10:00:10
  bob  | 1 | 4     | 10:00 | 10:00:10
"""
    )
    assert call(file).exit_code == 0


def test_a_program_that_fails_is_a_failure(project: Path) -> None:
    (project.parent / "clicks.sql").write_text(CLICKS.replace("LATE DROP", "LATE FAIL"))
    file = project / "late.wctest"
    rows = "feed clicks\n  user | amount | ts\n  ann | 1 | {}\n"
    file.write_text(f"program ../clicks.sql\n{rows.format('10:00:10')}{rows.format('10:00:01')}")
    result = call(file, "--update")
    assert result.exit_code == 1
    assert "    line 5: [DATA.LATE] fed row 0: an event starts at 2026-01-05 10:00:01" in result.output
    assert result.output.endswith("0 passed, 1 failed\n")


def test_parameters_and_streams_of_their_own_time(project: Path) -> None:
    (project.parent / "clicks.sql").write_text(CLICKS.replace("FROM clicks", "FROM clicks WHERE amount >= :least"))
    rows = "feed clicks\n  user | amount | ts\n  ann | 3 | 10:00:01\n  ann | 4 | 10:00:01\n"
    (project / "a.wctest").write_text(
        f"program ../clicks.sql\nparam least 4\n{rows}end\nexpect per_user\n  total\n  4\n"
    )
    (project / "b.wctest").write_text(
        "program ../stays.sql\nfeed stays\n  guest | room | from | to\n  ann | 1 | 20:00 |\n"
        "advance 21:00 stays\nadvance 20:00 alarms\nexpect taken\n  room | guests | from | to\n"
    )
    assert call().output.endswith("2 passed, 0 failed\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("feed clicks\n", "line 1: it does not say which program it tests.\n      hint: Start with: program ../clicks.sql"),
        ("program ../clicks.sql\n", "line 1: it has no steps."),
        ("program ../clicks.sql\nfed clicks\n", "line 2: there is no 'fed'.\n      hint: Lines start with: test, program, param, day, feed, advance, wait, end, crash, expect, reference. Did you mean 'feed'?"),
        ("program\n", "line 1: 'program' is not complete.\n      hint: Write: program FILE"),
        ("program ../clicks.sql\nexpect\n", "line 2: 'expect' has 0 words behind it.\n      hint: Write: expect OUTPUT"),
        ("program ../clicks.sql\nend\nday 2026-01-06\n", "line 3: 'day' stands behind a step or a test."),
        ("program ../clicks.sql\n  user | ts\n", "line 2: this line belongs to no step."),
        ("program ../clicks.sql\ntest\n", "line 2: the test has no name."),
        ("program ../clicks.sql\ntest a\ntest a\n", "line 3: the name 'a' is taken."),
        ("program ../clicks.sql\nend\ntest a\n", "line 3: there are steps before the first test."),
        ("program ../clicks.sql\nfeed clicks\n  user | amount | ts\n  ann | x | 10:00\n", "tests/bad.wctest, line 4: column 'amount': 'x' is not bigint.\n        ann | x | 10:00\n              ^\n"),
        ("program ../clicks.sql\nfeed clocks\n", "[TEST.NO_STREAM] The program has no stream 'clocks'.\n      --> tests/bad.wctest:2"),
        ("program ../clicks.sql\nexpect clocks\n", "[RUN.NO_OUTPUT] There is no output 'clocks'.\n      --> tests/bad.wctest:2"),
        ("program ../clicks.sql\nadvance 10:00\nadvance 9:00\n", "[TEST.BACKWARDS] The stream 'clicks' is at 10:00 already, and cannot go back to 09:00.\n      --> tests/bad.wctest:3"),
        ("program ../nowhere.sql\nend\n", "[TEST.NO_PROGRAM] There is no program nowhere.sql: looked for "),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong(project: Path, text: str, said: str) -> None:
    (project / "bad.wctest").write_text(text)
    (project / "good.wctest").write_text("program ../clicks.sql\nend\n")
    result = call()
    assert result.exit_code == 2
    assert said in result.output
    assert result.output.startswith("WRONG   tests/bad.wctest")
    assert result.output.endswith("1 passed, 0 failed, 1 wrong\n"), "the others are run"


def test_no_test_at_all(project: Path) -> None:
    result = call()
    assert result.exit_code == 2
    assert (
        "error [TEST.NO_FILES] There is no test in tests.\n  hint: Tests are files that end in .wctest" in result.output
    )
    assert call("nowhere").exit_code == 2
