"""``waterclock test``: the tests of a project that are written as text."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import click

from waterclock.cli.show import error_text, seconds
from waterclock.errors import ConfigError, WaterclockError
from waterclock.testing.golden import Case, GoldenFile, Wrong, found_in


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--update", is_flag=True, help="Show the differences, and write what came into the tables of expect.")
@click.option(
    "--chaos", type=click.IntRange(0), default=0, metavar="N",
    help="Play each test N times more, with crashes and other cuts, and ask the reference.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, metavar="S", help="Of chaos.")
def test(paths: tuple[Path, ...], update: bool, chaos: int, seed: int) -> None:
    """Run the tests of a project: files that end in .wctest, named, or in directories (default: tests).

    Exits with 0 if all passed, with 1 if one failed, with 2 if a file or its program is wrong.

    \b
    waterclock test
    waterclock test tests/late.wctest --update
    waterclock test --chaos 200 --seed 7
    """
    tests = Path("tests")
    searched = paths or (tests if tests.is_dir() else Path(),)
    files = found_in(searched)
    if not files:
        raise ConfigError("TEST.NO_FILES", paths=", ".join(map(str, searched)))
    count = Counter[str]()
    for path in files:
        try:
            file = GoldenFile(path)
        except WaterclockError as error:
            count["wrong"] += _show_wrong(str(path), error)
            continue
        count += _run(file, update, chaos, seed)
    wrong = f", {count['wrong']} wrong" if count["wrong"] else ""
    click.echo(f"{count['passed']} passed, {count['failed']} failed{wrong}")
    if count["failed"] or count["wrong"]:
        raise click.exceptions.Exit(2 if count["wrong"] else 1)


def _run(file: GoldenFile, update: bool, chaos: int, seed: int) -> Counter[str]:
    count = Counter[str]()
    changes: list[Wrong] = []
    for case in file.cases:
        began = time.perf_counter()
        try:
            wrong = file.run(case, chaos, seed)
        except WaterclockError as error:
            count["wrong"] += _show_wrong(_name(file, case), error)
            continue
        updated = update and bool(wrong) and all(each.step is not None for each in wrong)
        word = "UPDATED" if updated else "FAILED" if wrong else "ok"
        click.echo(f"{word:<7} {_name(file, case)} ({seconds(time.perf_counter() - began)})")
        for each in wrong:
            click.echo(_indented(f"line {each.line}: {each.text}"))
        count["failed" if wrong and not updated else "passed"] += 1
        changes += wrong if updated else []
    if changes:
        file.update(changes)
    return count


def _show_wrong(name: str, error: WaterclockError) -> int:
    click.echo(f"WRONG   {name}")
    click.echo(_indented(error_text(error.code, error.message, error.hint)))
    return 1


def _name(file: GoldenFile, case: Case) -> str:
    return f"{file.path}: {case.name}"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())
