"""A PostgreSQL server of the tests' own: in a temporary directory, reached through a socket there, nothing else."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

from scripts.postgres import programs

ACCOUNT = "postgres" if os.geteuid() == 0 else None
"""The server refuses to run as root."""
MEMORY = Path("/dev/shm")
"""Where syncing costs nothing, if there is room: what a killed server has written stays there as on a disk."""


class Server:
    def __init__(self) -> None:
        found = programs()
        assert found is not None
        self._programs = found
        room = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 1 << 30
        # A short path: that of a socket has at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="wcpg", dir=MEMORY if room else "/tmp"))
        self._log = (self.folder / "log").open("wb")
        if ACCOUNT:
            shutil.chown(self.folder, ACCOUNT)
        self._call("initdb", "-D", str(self.folder / "data"), "-U", "waterclock", "-A", "trust", "-E", "UTF8")
        self.start()
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE waterclock")
            connection.execute("CREATE ROLE guest LOGIN")

    @property
    def url(self) -> str:
        return self._url("waterclock")

    def _url(self, database: str) -> str:
        return f"postgresql://waterclock@/{database}?host={self.folder}"

    def start(self) -> None:
        options = ["-k", str(self.folder), "-c", "listen_addresses=", "-c", "max_connections=50"]
        deadline = time.monotonic() + 60
        while True:
            self._process = self._spawn("postgres", "-D", str(self.folder / "data"), *options)
            while self._process.poll() is None:
                try:
                    psycopg.connect(self._url("postgres"), connect_timeout=5).close()
                    return
                except psycopg.OperationalError:
                    time.sleep(0.02)
            # After SIGKILL the old server's processes take a moment to go.
            assert time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.1)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends connections and shuts down; SIGKILL is a crash."""
        self._process.send_signal(how)
        self._process.wait(60)

    def remove(self) -> None:
        if self._process.poll() is None:
            self.stop()
        self._log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, sql: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def cut(self) -> int:
        """Ends the connections of all clients, as a broken network would; gives their number."""
        others = "FROM pg_stat_activity WHERE datname = 'waterclock' AND pid <> pg_backend_pid()"
        return len(self.ask(f"SELECT pg_terminate_backend(pid) {others}"))

    def _call(self, program: str, *arguments: str) -> None:
        done = self._spawn(program, *arguments).wait(120)
        assert done == 0, (self.folder / "log").read_text()

    def _spawn(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [str(self._programs / program), *arguments],
            cwd=self.folder, user=ACCOUNT, group=ACCOUNT, extra_groups=[] if ACCOUNT else None,
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, start_new_session=True,
        )  # fmt: skip
