"""``waterclock lint``, ``fmt`` and ``init``: write programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from waterclock.app import App, check
from waterclock.cli.file import FILE, given, load
from waterclock.cli.show import error_text
from waterclock.errors import ConfigError, SqlError, WaterclockError
from waterclock.lang.sql.format import formatted
from waterclock.programs import source_of


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="The value of a parameter; repeatable.")
def lint(files: tuple[Path, ...], params: tuple[str, ...]) -> None:
    """Check programs without running them: what is wrong in every statement, or else what is never used.

    Exits with 2 if there is an error.
    """
    failed = False
    for file in files:
        errors, notes = checked(file, params)
        show_errors(errors)
        for note in notes:
            click.echo(note, err=True)
        if not errors:
            click.echo(f"{file}: ok")
        failed = failed or bool(errors)
    if failed:
        raise SystemExit(2)


def show_errors(errors: Sequence[WaterclockError]) -> None:
    for error in errors:
        click.echo(error_text(error.code, error.message, error.hint), err=True)


def checked(file: Path, params: tuple[str, ...]) -> tuple[list[WaterclockError], list[str]]:
    """What is wrong in each statement of a program; if nothing is, what is not used in it."""
    if file.suffix != ".sql":
        try:
            load(file, None, None, params, looking=True)
        except WaterclockError as error:
            return [error], []
        return [], []
    app = App("lint", "unused")
    loaded = check(app, source_of(file), given(params))
    errors: list[WaterclockError] = list(loaded.errors)
    if not errors and not loaded.outputs:
        query = next((name for name in reversed(loaded.defined)), "name")
        errors.append(SqlError("SQL.NO_OUTPUT", name=query))
    if errors:
        return errors, []  # a query that failed reads nothing, so what it would read seems unused
    unused = [name for name in loaded.defined if name not in loaded.reads]
    source = loaded.source
    return [], [f"{file}:{source.line_of(loaded.defined[name].start)}: {name} is never used" for name in unused]


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option("--check", "only", is_flag=True, help="Change nothing; exit with 1 if something would change.")
def fmt(files: tuple[Path, ...], only: bool) -> None:
    """Lay programs in SQL out: a clause a line, keywords in capitals, comments kept."""
    changed = []
    for file in files:
        source = source_of(file)
        text = formatted(source)
        if text != source.text:
            changed.append(file)
            if not only:
                file.write_text(text, encoding="utf-8")
    for file in changed:
        click.echo(f"{file}: {'would change' if only else 'changed'}")
    if only and changed:
        raise SystemExit(1)


PROGRAM = """\
-- Clicks per user in windows of ten seconds.
--
--   waterclock run clicks.sql --mode offline            in this process, without Java
--   waterclock run clicks.sql --mode drain              the same on Spark
--   waterclock tail per_user --store ./waterclock-store what it has given
--   waterclock lint clicks.sql                          what is wrong with it, if anything
--   waterclock test                                     does it what tests/clicks.wctest says?

CREATE STREAM clicks (user STRING, page STRING, ts TIMESTAMP)
  POINT AT ts
  WATERMARK ts - 2s IDLE AFTER 10s
  LATE DROP
  FROM files('in/*.jsonl');

per_user =
SELECT user, COUNT(*) AS clicks, COUNT(DISTINCT page) AS pages
FROM clicks
GROUP BY user
WITH TUMBLING(10s);

OUTPUT per_user TO jsonl('per_user.jsonl');
"""
ROWS = """\
{"user": "ann", "page": "home", "ts": "2026-01-05T10:00:01Z"}
{"user": "bob", "page": "home", "ts": "2026-01-05T10:00:03Z"}
{"user": "ann", "page": "cart", "ts": "2026-01-05T10:00:04Z"}
{"user": "ann", "page": "home", "ts": "2026-01-05T10:00:12Z"}
{"user": "bob", "page": "cart", "ts": "2026-01-05T10:00:15Z"}
"""
TEST = """\
program ../clicks.sql

test clicks and pages per user in windows of ten seconds
feed clicks
  user | page | ts
  ann  | home | 10:00:01
  bob  | home | 10:00:03
  ann  | cart | 10:00:04
  ann  | home | 10:00:12
advance 10:00:20
expect per_user
  user | clicks | pages | from     | to
  ann  | 2      | 2     | 10:00    | 10:00:10
  bob  | 1      | 1     | 10:00    | 10:00:10
  ann  | 1      | 1     | 10:00:10 | 10:00:20

test a click that comes too late is left out
feed clicks
  user | page | ts
  ann  | home | 10:00:01
  ann  | home | 10:00:14
feed clicks
  user | page | ts
  bob  | home | 10:00:03
end
expect per_user
  user | clicks
  ann  | 1
  ann  | 1
"""
IGNORED = "waterclock-store/\nper_user.jsonl\n"


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
def init(directory: Path) -> None:
    """Make a first project in DIRECTORY: a program in SQL that runs, some input, and tests."""
    files = {"clicks.sql": PROGRAM, "in/2026-01-05.jsonl": ROWS, "tests/clicks.wctest": TEST, ".gitignore": IGNORED}
    for name in files:
        if (directory / name).exists():
            raise ConfigError("CLI.THERE_ALREADY", file=directory / name)
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    click.echo(
        f"made {directory / 'clicks.sql'}; run it, and its tests:\n  cd {directory}\n"
        "  waterclock run clicks.sql --mode offline\n  waterclock test"
    )
