"""The app of a program file, in SQL or in Python."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from waterclock.app import App, sql
from waterclock.errors import ConfigError, SqlError, WaterclockError


def app_of(
    file: Path, name: str | None = None, params: Mapping[str, Any] | None = None, argv: Sequence[str] = (),
    store: str | None = None, catalog: str | None = None, looking: bool = False,
) -> App:  # fmt: skip
    """The app of a program in SQL; or executes the file as one that does not run itself, and picks its app.

    ``params`` are those of a program in SQL, ``argv`` is what one in Python finds in ``sys.argv``.
    ``looking``: what the program pushes while it is loaded is not taken.
    """
    with _as_program(file, store, catalog, argv, looking):
        if file.suffix == ".sql":
            return sql(file, params, name=name)
        try:
            found = runpy.run_path(str(file), run_name="__waterclock__")
        except WaterclockError as error:
            line = _line(file, error)
            if line is not None and not isinstance(error, SqlError):  # that has a place of its own
                error.point_to(f"{file}:{line}")
            raise
        except Exception as error:
            line = _line(file, error)
            place = f"{file}, line {line}" if line else file
            fix = "Correct the program; --traceback shows the whole way."
            raise ConfigError("CLI.BAD_PROGRAM", file=place, reason=_reason(error), fix=fix) from error
    return _pick(file, {key: value for key, value in found.items() if isinstance(value, App)}, name)


@contextmanager
def _as_program(
    file: Path, store: str | None, catalog: str | None, argv: Sequence[str], looking: bool
) -> Iterator[None]:
    """What Python gives a script, and the store and its catalog for what it pushes while it is loaded."""
    before, path = sys.argv, list(sys.path)
    sys.argv = [str(file), *argv]
    sys.path.insert(0, str(file.absolute().parent))
    App.store_override, App.catalog_override, App.looking = store, catalog, looking
    try:
        yield
    finally:
        sys.argv = before
        sys.path[:] = path
        App.store_override = App.catalog_override = None
        App.looking = False


def _pick(file: Path, found: dict[str, App], name: str | None) -> App:
    apps = {id(app): app for app in found.values()}
    chosen = [app for app in apps.values() if name is None or app.name == name or found.get(name) is app]
    if len(chosen) == 1:
        return chosen[0]
    if not apps:
        fix = "Make one at the top level of the file: app = wc.App('name')."
        raise ConfigError("CLI.BAD_PROGRAM", file=file, reason="there is no wc.App in it", fix=fix)
    names = ", ".join(sorted(app.name for app in apps.values()))
    reason = "it has several apps" if name is None else f"it has no app {name!r}"
    raise ConfigError("CLI.BAD_PROGRAM", file=file, reason=reason, fix=f"Choose with --app: {names}.")


def _line(file: Path, error: Exception) -> int | None:
    """The line of the file that the error came from."""
    if isinstance(error, SyntaxError):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == str(file)), None)


def _reason(error: Exception) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {text}".rstrip(".: ")


def plain_value(text: str) -> Any:
    """The value of a parameter as people write it: numbers, true, false and null are what they look like."""
    words = {"true": True, "false": False, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
