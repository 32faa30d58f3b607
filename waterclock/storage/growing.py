"""The open end of a stream or state: many small blobs appended to one file instead of a file each."""

from __future__ import annotations

import os
import threading
import uuid
from pathlib import Path

from waterclock.storage.blobs import Blob, checksum, disk_error, sync_new

GROWING = ".arrows"


class GrowingFile:
    """Appends blobs under ``directory``; starts a new file when one is full. One writer, any readers.

    A restarted process starts a new file: what a crashed one left behind the last committed blob stays unread.
    """

    def __init__(self, root: Path, directory: str, limit: int = 32 << 20) -> None:
        self._root = root
        self._directory = directory
        self._limit = limit
        self._path = ""
        self._file: int | None = None
        self._length = 0
        self._lock = threading.Lock()

    def append(self, data: bytes) -> Blob:
        with self._lock:
            target = self._root / self._path
            try:
                # One that nobody named for long is swept, also while it is open: what goes there would be lost.
                if self._file is None or self._length >= self._limit or os.fstat(self._file).st_nlink == 0:
                    target = self._open_next()
                assert self._file is not None
                written = 0
                while written < len(data):
                    written += os.write(self._file, memoryview(data)[written:])
            except OSError as error:
                self._abandon()
                raise disk_error(error, target) from error
            blob = Blob(self._path, self._length, len(data), checksum(data))
            self._length += len(data)
            return blob

    def sync(self) -> None:
        """Returns when everything appended so far survives a power cut."""
        with self._lock:
            if self._file is not None:
                try:
                    os.fdatasync(self._file)
                except OSError as error:
                    raise disk_error(error, self._root / self._path) from error

    @property
    def path(self) -> str:
        """The file that the next append goes to; empty before the first."""
        return self._path

    def close(self) -> None:
        with self._lock:
            self._abandon()

    def _open_next(self) -> Path:
        self._abandon()
        self._path = f"{self._directory}/{uuid.uuid4().hex}{GROWING}"
        target = self._root / self._path
        target.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        self._length = 0
        sync_new(target)
        return target

    def _abandon(self) -> None:
        # After a failed write the length on disk is unknown: never append to that file again.
        if self._file is not None:
            os.close(self._file)
        self._file = None
        self._path = ""
