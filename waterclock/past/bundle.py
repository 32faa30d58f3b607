"""A bundle: one file with all that some epochs of a vertex need, to be debugged or verified elsewhere.

It is a small store in a zip file: the events that these epochs read, the state before the first of them, what was
recorded of them, and what they gave.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from waterclock.catalog import Catalog
from waterclock.catalog.branch import Places, branch
from waterclock.errors import StoreError
from waterclock.runtime.log import StreamReader
from waterclock.schema import VS, bounds
from waterclock.state import Run
from waterclock.storage import GrowingFile, encode, read
from waterclock.streams import Segment

FORMAT = 1
ABOUT = "bundle.json"


def pack(catalog: Catalog, vertex: str, base: int, last: int, target: Path) -> int:
    """Writes the bundle of the epochs behind ``base`` up to ``last``; gives its size in bytes."""
    with tempfile.TemporaryDirectory(prefix="waterclock-bundle-") as folder:
        root = Path(folder)
        small = Catalog.scratch(root)
        try:
            branch(catalog, small, vertex, base, last, _copies(catalog, root), done=True)
        finally:
            small.close()
        about = {"format": FORMAT, "waterclock": version("waterclock"), "vertex": vertex, "base": base, "last": last}
        (root / ABOUT).write_text(json.dumps(about))
        making = target.with_name(f".{target.name}.making")
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


def base_of(root: Path) -> int | None:
    """Behind which epoch a bundle that was opened here begins; None: it is a store."""
    about = root / ABOUT
    return int(json.loads(about.read_text())["base"]) if about.exists() else None


@contextmanager
def opened(path: str) -> Iterator[str]:
    """The store in a bundle, for a while; anything else is taken to be a store itself."""
    if not zipfile.is_zipfile(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="waterclock-bundle-") as folder, zipfile.ZipFile(path) as file:
        if ABOUT not in file.namelist():
            raise StoreError("STORE.NOT_A_BUNDLE", path=path)
        about = json.loads(file.read(ABOUT))
        if about["format"] > FORMAT:
            raise StoreError("STORE.NEWER_BUNDLE", path=path, version=about["waterclock"], ours=version("waterclock"))
        file.extractall(folder)
        yield folder
