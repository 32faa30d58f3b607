"""The pytest plugin of waterclock: the fixture ``ts``, and the tests in files that end in ``.wctest``.

It stands outside of the package, which is imported only by a test that needs it: loading it costs others nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from waterclock.testing import TestStream
    from waterclock.testing.golden import Case, GoldenFile


@pytest.fixture
def ts(request: pytest.FixtureRequest) -> Iterator[TestStream]:
    """A ``waterclock.testing.TestStream`` without a program: load one. Files are looked for beside the test first."""
    from waterclock.testing import TestStream

    with TestStream(beside=request.path.parent) as made:
        yield made


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    return Golden.from_parent(parent, path=file_path) if file_path.suffix == ".wctest" else None


class Golden(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        from waterclock.errors import WaterclockError
        from waterclock.testing.golden import GoldenFile

        try:
            file = GoldenFile(self.path)
        except WaterclockError as error:
            raise self.CollectError(str(error)) from None
        for case in file.cases:
            yield GoldenCase.from_parent(self, name=case.name, file=file, case=case)


class GoldenCase(pytest.Item):
    def __init__(self, file: GoldenFile, case: Case, **rest: Any) -> None:
        super().__init__(**rest)
        self._file = file
        self._case = case

    def runtest(self) -> None:
        wrong = self._file.run(self._case)
        if wrong:
            pytest.fail("\n".join(f"line {each.line}: {each.text}" for each in wrong), pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self._case.line - 1, self.name
