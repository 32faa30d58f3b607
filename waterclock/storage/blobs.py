"""A blob is an immutable frame on disk, named by path, offset, length and checksum.

Formats: ``arrow`` is one Arrow IPC stream (schema and all), alone in a file or at an offset of a growing one;
``parquet`` is a whole Parquet file. A reader takes exactly the recorded bytes, so what a crashed writer
left behind them is never seen.
"""

from __future__ import annotations

import errno
import io
import mmap
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import xxhash

from waterclock.errors import StoreError

MOST_CHUNKS = 8
"""With more, Polars would copy a frame in order to look rows up in it."""
ARROW = "arrow"
PARQUET = "parquet"
ROOM = 1 << 16
"""A disk with fewer bytes is full: SQLite needs half of it for the index of its log."""


class Damaged(Exception):
    """The bytes of a blob are missing, short or changed."""

    def __init__(self, blob: Blob, reason: str) -> None:
        super().__init__(f"{blob.path}: {reason}")
        self.blob = blob
        self.reason = reason

    def __reduce__(self) -> tuple[object, ...]:
        return Damaged, (self.blob, self.reason)


@dataclass(frozen=True)
class Blob:
    path: str
    """Relative to the store, or absolute for a file outside it."""
    offset: int
    length: int
    checksum: int
    format: str = ARROW


def checksum(data: bytes | memoryview | mmap.mmap) -> int:
    """XXH3, which costs a fifth of a CRC; 63 bits, as SQL's integers have a sign."""
    return xxhash.xxh3_64_intdigest(data) >> 1


def encode(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.rechunk().write_ipc_stream(buffer)
    return buffer.getvalue()


def decode(data: bytes | memoryview) -> pl.DataFrame:
    return pl.read_ipc_stream(io.BytesIO(data))


def write_frame(root: Path, path: str, frame: pl.DataFrame) -> Blob:
    """A file of its own, straight from the frame; the caller makes the name unique to this attempt."""
    target = root / path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _write_stream(target, frame)
        with target.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as written:
            return Blob(path, 0, len(written), checksum(written))
    except (OSError, pl.exceptions.ComputeError) as error:
        raise disk_error(error, target) from error


def write_parquet(root: Path, path: str, frame: pl.DataFrame) -> Blob:
    """As ``write_frame``, small and for long, and safe when it returns."""
    target = root / path
    try:
        target.parent.mkdir(exist_ok=True)
        frame.write_parquet(target, compression="zstd")
        sync_new(target)
        data = target.read_bytes()
    except (OSError, pl.exceptions.ComputeError) as error:
        raise disk_error(error, target) from error
    return Blob(path, 0, len(data), checksum(data), PARQUET)


def _write_stream(target: Path, frame: pl.DataFrame) -> None:
    if any("Int128" in str(kind) for kind in frame.dtypes):  # which pyarrow does not have
        frame.write_ipc_stream(target)
        return
    lengths = [column.chunk_lengths() for column in frame]
    if len(lengths[0]) > MOST_CHUNKS or any(each != lengths[0] for each in lengths):
        frame, lengths = frame.rechunk(), [[frame.height]]
    # Texts in the order of the rows, where Polars would write them as they lie: rows next to each other are read
    # together. And twice as fast as Polars writes. One chunk at a time: this is where texts are copied.
    form = pl.CompatLevel.oldest()
    schema = frame[:0].to_arrow(compat_level=form).schema
    with pa.OSFile(str(target), "wb") as file, pa.ipc.new_stream(file, schema) as stream:
        at = 0
        for length in lengths[0]:
            stream.write_table(frame.slice(at, length).to_arrow(compat_level=form))
            at += length


def read(root: Path, blob: Blob, check: bool = True) -> pl.DataFrame:
    """The frame of a blob. Raises ``Damaged`` unless every byte is what was written (or, unchecked, there)."""
    return load(root, blob, check)[0]


def load(root: Path, blob: Blob, check: bool = True) -> tuple[pl.DataFrame, mmap.mmap | None]:
    """As ``read``, with the mapping where there is one.

    A large blob is mapped, not copied: its pages are the system's to share between processes and to take back.
    """
    data = read_bytes(root, blob)
    if check and checksum(data) != blob.checksum:
        raise Damaged(blob, "the checksum differs")
    if blob.format == PARQUET:
        return pl.read_parquet(io.BytesIO(data)), None
    if isinstance(data, bytes):
        return decode(data), None
    mapped = data.obj
    assert isinstance(mapped, mmap.mmap)
    if check:
        mapped.madvise(mmap.MADV_DONTNEED)  # the check touched every page; most will not be needed soon
    try:
        frame = pl.from_arrow(pa.ipc.open_stream(pa.py_buffer(data)).read_all())
    except pa.ArrowNotImplementedError:  # it has no integers of 128 bits, which exact sums are
        return decode(data), None
    assert isinstance(frame, pl.DataFrame)
    return frame, mapped


def scan(root: Path, blob: Blob) -> pl.LazyFrame:
    """As ``read``, but lets a query push its columns and predicates into a Parquet file."""
    if blob.format == PARQUET:
        path = root / blob.path
        if not path.exists() or path.stat().st_size != blob.length:
            raise Damaged(blob, "missing" if not path.exists() else "the length differs")
        return pl.scan_parquet(path, glob=False)
    return read(root, blob).lazy()


def read_bytes(root: Path, blob: Blob) -> bytes | memoryview:
    try:
        with (root / blob.path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < blob.offset + blob.length:
                raise Damaged(blob, "the file is too short")
            if blob.length < 1 << 20:
                file.seek(blob.offset)
                return file.read(blob.length)
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            return memoryview(mapped)[blob.offset : blob.offset + blob.length]
    except FileNotFoundError:
        raise Damaged(blob, "missing") from None


def sync_new(path: Path) -> None:
    """Makes a file's bytes and its name survive a power cut."""
    sync_file(path)
    sync_file(path.parent)


def sync_file(path: Path) -> None:
    """Makes the bytes of a file, or the names in a directory, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_full(folder: Path) -> bool:
    return folder.exists() and shutil.disk_usage(folder).free < ROOM


def disk_error(error: Exception, path: Path) -> StoreError:
    # Polars tells the number in its text only, or nothing but that it could not write.
    number = error.errno if isinstance(error, OSError) else None
    known = number in (errno.ENOSPC, errno.EDQUOT) or f"(os error {errno.ENOSPC})" in str(error)
    if known or (number is None and is_full(path.parent)):
        return StoreError("STORE.FULL", path=path)
    return StoreError(
        "STORE.DAMAGED",
        what=str(path),
        reason=getattr(error, "strerror", None) or str(error),
        fix="Check the disk and its permissions.",
    )
