"""A bundle: one file with all that some epochs of a vertex need, to be debugged or verified elsewhere.

It is a small store in a zip file: the events that these epochs read, the state before the first of them, what was
recorded of them, and what they gave.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from waterclock.catalog import Catalog
from waterclock.catalog.branch import Places, branch
from waterclock.errors import StoreError
from waterclock.runtime.log import StreamReader
from waterclock.runtime.replay import readable
from waterclock.schema import VS, bounds
from waterclock.state import Run
from waterclock.storage import GrowingFile, encode, read
from waterclock.streams import Segment

FORMAT = 1
ABOUT = "bundle.json"


def pack(catalog: Catalog, vertex: str, base: int, last: int, target: Path) -> int:
    """Writes the bundle of the epochs behind ``base`` up to ``last``; gives its size in bytes."""
    making = target.with_name(f".{target.name}.making")
    with tempfile.TemporaryDirectory(prefix="waterclock-bundle-") as folder, readable(vertex):
        root = Path(folder)
        small = Catalog.scratch(root)
        try:
            branch(catalog, small, vertex, base, last, _copies(catalog, root), done=True)
        finally:
            small.close()
        about = {"format": FORMAT, "waterclock": version("waterclock"), "vertex": vertex, "base": base, "last": last}
        (root / ABOUT).write_text(json.dumps(about))
        with zipfile.ZipFile(making, "w", zipfile.ZIP_DEFLATED) as file:
            for path in sorted(root.rglob("*")):
                if path.is_file():
                    file.write(path, path.relative_to(root))
        making.replace(target)
    return target.stat().st_size


def _copies(catalog: Catalog, root: Path) -> Places:
    """Of the rows that are needed, and no others."""
    files: dict[str, GrowingFile] = {}

    def growing(directory: str) -> GrowingFile:
        return files.setdefault(directory, GrowingFile(root, directory))

    def segment(name: str, found: Segment, start: int, end: int) -> Segment:
        first, behind = max(start, found.first), min(end, found.end)
        rows = StreamReader(catalog, name).read(first, behind)
        blob = growing(f"streams/{name}").append(encode(rows))
        return Segment(first, rows.height, found.cti, blob, *bounds(rows, VS), arrived=found.arrived)

    def run(found: Run) -> Run:
        return replace(found, blob=growing(f"state/{found.operator}").append(encode(read(catalog.root, found.blob))))

    return Places(segment, run)


class About(NamedTuple):
    base: int
    """Behind which epoch it begins."""
    path: str
    """Of the file."""


def about(root: Path) -> About | None:
    """The bundle that was opened here; None: it is a store."""
    file = root / ABOUT
    if not file.exists():
        return None
    told = json.loads(file.read_text())
    return About(told["base"], told["path"])


@contextmanager
def opened(path: str) -> Iterator[str]:
    """The store in a bundle, for a while; anything else is taken to be a store itself."""
    if not Path(path).is_file():
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="waterclock-bundle-") as folder:
        _unpack(path, Path(folder))
        yield folder


def _unpack(path: str, folder: Path) -> None:
    try:
        with zipfile.ZipFile(path) as file:
            told = json.loads(file.read(ABOUT))
            if "format" not in told:
                raise LookupError(f"its {ABOUT} does not say which format it has")
            if told["format"] > FORMAT:
                raise StoreError(
                    "STORE.NEWER_BUNDLE", path=path, version=told["waterclock"], ours=version("waterclock")
                )
            file.extractall(folder)
        if not Catalog.is_in(folder):
            raise LookupError("it has no catalog")
    except (zipfile.BadZipFile, zlib.error, ValueError, LookupError) as error:
        raise StoreError("STORE.NOT_A_BUNDLE", path=path, reason=str(error).strip("'\".")) from None
    (folder / ABOUT).write_text(json.dumps(told | {"path": path}))
