"""The documentation is right: examples run and print what is shown, names exist, links lead somewhere.

How blocks are fenced in README.md and docs/*.md:

    python            executed, in order, in one namespace and one fresh working directory per page
    python file=NAME  the same, and written to NAME for the commands that follow
    python postgres   needs a server: the URL in it, as in the commands that follow, is that of the tests' own
    python live       needs Spark: compiled here, executed in the test marked spark
    sql file=NAME     written to NAME, and a program that can be read
    sql               given to the function sql() that the page has defined
    text output       what the block before it prints, exactly
    text file=NAME    written to NAME
    console run       commands after ``$ ``, executed in the page's directory; each must succeed
    console run exit=1  the same, and each must end with this code
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import click
import pytest

import waterclock as wc
from scripts.postgres import programs
from waterclock.cli.main import main
from waterclock.errors import CATALOGUE
from waterclock.lang.sql.format import formatted
from waterclock.lang.sql.source import Source
from waterclock.runtime.metrics import figures
from waterclock.runtime.metrics.alerts import RULES, Alerts
from waterclock.runtime.metrics.prometheus import METRICS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ALL_PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHOWN_URL = "postgresql://waterclock@db.example.com/streams"
WRITTEN = (
    "start", "time", "queries", "sql", "python", "dstreams", "connect", "spark", "query", "operate", "time-machine", 
    "compare", "testing",
)  # fmt: skip
COMMAND_NAMES = main.list_commands(click.Context(main))
COMMANDS = {"waterclock": ["waterclock.cli.main"], "pytest": ["pytest", "-p", "pytest_waterclock"]}


class Block(NamedTuple):
    line: int
    info: tuple[str, ...]
    text: str


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    found: list[Block] = []
    start, info, lines = 0, (), []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if not line.startswith("```"):
            lines.append(line)
        elif not start:
            start, info, lines = number, tuple(line[3:].split()), []
        else:
            found.append(Block(start, info, "\n".join(lines)))
            start = 0
    assert not start, f"{page.name}:{start} is not closed"
    return found


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def run_page(page: Path, live: bool, server: str | None = None) -> None:
    """Executes the blocks of a page in the working directory."""
    # As under `waterclock run`: a program that runs itself only as the main program does not.
    space: dict[str, object] = {"__name__": "__waterclock__"}
    printed = ""
    for block in blocks(page):
        where = f"{name_of(page)}:{block.line}"
        if block.info[:1] == ("python",):
            text = block.text.replace(SHOWN_URL, server or SHOWN_URL)
            code = compile("\n" * block.line + text, str(page), "exec")
            for option in block.info[1:]:
                assert option in ("live", "postgres") or option.startswith("file="), f"{where}: what is {option!r}?"
                if option.startswith("file="):
                    Path(option.removeprefix("file=")).write_text(block.text)
            if ("live" in block.info and not live) or ("postgres" in block.info and server is None):
                continue
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(code, space)
            printed = output.getvalue()
        elif block.info[:1] == ("sql",):
            printed = run_sql(block, space)
        elif block.info == ("text", "output"):
            assert printed.strip() == block.text.strip(), where
        elif block.info[:1] == ("text",) and len(block.info) == 2:
            file = Path(block.info[1].removeprefix("file="))
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text + "\n")
        elif block.info[:2] == ("console", "run") and ("postgres" not in block.info or server is not None):
            printed = run_commands(block, where)


def run_sql(block: Block, space: dict[str, object]) -> str:
    if len(block.info) > 1:
        (option,) = block.info[1:]
        Path(option.removeprefix("file=")).write_text(block.text + "\n")
        formatted(Source(block.text))
        return ""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        space["sql"](block.text)  # type: ignore[operator]
    return output.getvalue()


def run_commands(block: Block, where: str) -> str:
    """Gives what the last one printed."""
    code = int(next((option.removeprefix("exit=") for option in block.info if option.startswith("exit=")), "0"))
    printed = ""
    for line in block.text.splitlines():
        program, *words = shlex.split(line.removeprefix("$ "), comments=True) if line.startswith("$ ") else [""]
        if program in COMMANDS:
            done = subprocess.run(
                [sys.executable, "-m", *COMMANDS[program], *words], env=os.environ | {"PYTHONPATH": str(ROOT)},
                capture_output=True, text=True, timeout=60, check=False,
            )  # fmt: skip
            assert done.returncode == code, f"{where}: {line}\n{done.stdout}{done.stderr}"
            printed = done.stdout
    return printed


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_run_and_print_what_is_shown(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    needed = programs() is not None and any("postgres" in block.info for block in blocks(page))
    run_page(page, live=False, server=request.getfixturevalue("server").url if needed else None)


@pytest.mark.spark
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any("live" in block.info for block in blocks(page))], ids=name_of
)
def test_live_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # as where the environment is activated
    run_page(page, live=True)


def test_every_page_has_examples() -> None:
    for name in WRITTEN:
        kinds = [block.info[:1] for block in blocks(ROOT / "docs" / f"{name}.md")]
        assert ("python",) in kinds, name


@pytest.mark.parametrize("page", ALL_PAGES, ids=name_of)
def test_error_codes_exist(page: Path) -> None:
    families = {code.split(".")[0] for code in CATALOGUE}
    named = re.findall(r"\b([A-Z]+\.[A-Z][A-Z_]+)\b", page.read_text())
    unknown = {code for code in named if code.split(".")[0] in families} - CATALOGUE.keys()
    assert not unknown


@pytest.mark.parametrize("page", ALL_PAGES, ids=name_of)
def test_names_of_the_package_exist(page: Path) -> None:
    named = set(re.findall(r"\bwc\.([A-Za-z_]\w*)", page.read_text()))
    assert not {name for name in named if not hasattr(wc, name)}


def commands(page: Path) -> list[tuple[str, list[str]]]:
    """Every ``waterclock ...`` in code: the command and the options behind it."""
    text = page.read_text()
    spans = [span for span in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text) if span.startswith("waterclock ")]
    console = [line for block in blocks(page) if block.info[:1] == ("console",) for line in block.text.splitlines()]
    spans += [line.removeprefix("$ ") for line in console if line.removeprefix("$ ").startswith("waterclock ")]
    found = []
    for span in spans:
        words = shlex.split(span.split("|")[0], comments=True)[1:]
        options = [word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)]
        found.append((next((word for word in words if not word.startswith("-")), ""), options))
    return found


@pytest.mark.parametrize("page", ALL_PAGES, ids=name_of)
def test_commands_and_their_options_exist(page: Path) -> None:
    for command, options in commands(page):
        if command:
            assert command in COMMAND_NAMES, f"{name_of(page)}: waterclock {command}"
        known = known_options(called(command) if command else main)
        assert set(options) <= known | known_options(main), f"{name_of(page)}: waterclock {command} {options}"


def called(name: str) -> click.Command:
    found = main.get_command(click.Context(main), name)
    assert found is not None
    return found


def known_options(command: click.Command) -> set[str]:
    context = click.Context(command)
    help_options = set(context.help_option_names) | {"-h", "--help"}
    parts = command.commands.values() if isinstance(command, click.Group) and command is not main else ()
    own = {option for parameter in command.params for option in parameter.opts}
    return own.union(help_options, *(known_options(part) for part in parts))


def test_operate_names_every_command_option_and_figure() -> None:
    page = (ROOT / "docs" / "operate.md").read_text()
    for name in COMMAND_NAMES:
        command = called(name)
        assert f"waterclock {name}" in page
        parts = command.commands if isinstance(command, click.Group) else {}
        for part in (command, *parts.values()):
            assert part is command or f"waterclock {name} {part.name}" in page
            for parameter in part.params:
                if isinstance(parameter, click.Option):
                    assert any(f"{option}" in page for option in parameter.opts), f"{name} {parameter.opts}"
    for kind in vars(figures).values():
        if dataclasses.is_dataclass(kind):
            for field in dataclasses.fields(kind):
                assert re.search(rf"`(recent\.)?{field.name}`", page), f"{kind}.{field.name}"


def test_operate_lists_every_metric_and_alert_as_it_is() -> None:
    lines = (ROOT / "docs" / "operate.md").read_text().splitlines()
    metrics = [f"| `{m.name}` | {m.kind} | {', '.join(m.labels)} | {m.help} |" for m in METRICS]
    assert [line for line in lines if line.startswith("| `waterclock_")] == metrics
    start = lines.index("| alert | holds when | by default from | what to do |") + 2
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[start : start + len(RULES)]]
    assert [(row[0], row[1], row[3]) for row in rows] == [(f"`{r.name}`", r.about, r.advice) for r in RULES]
    assert not lines[start + len(RULES)]
    for row, field in zip(rows, dataclasses.fields(Alerts), strict=True):
        default = Alerts().threshold(field.name)
        shown = float(row[2].split()[0]) * {"minutes": 60, "minute": 60, "%": 0.01}.get(row[2].split()[1], 1)
        assert shown == pytest.approx(default), field.name


@pytest.mark.parametrize("page", ALL_PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if not re.match(r"[a-z]+:", target) and not target.startswith("#"):
            path = os.path.normpath(page.parent / target.split("#")[0])
            if not os.path.exists(path):
                broken.append(target)
    assert not broken
