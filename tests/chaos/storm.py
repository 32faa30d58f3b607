"""One store under a storm: processes start, input arrives, harm is done, and in the end a clean run finishes it."""

from __future__ import annotations

import atexit
import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from tests.chaos.child import Job, run
from tests.chaos.programs import PROGRAMS, arriving
from tests.postgres import Server
from tests.recovery.harness import FORKS
from waterclock.catalog import Catalog

FORKS.set_forkserver_preload(["tests.recovery.program", "tests.chaos.child"])
PATIENCE = 240.0
"""What takes longer hangs."""
RIVALS = frozenset({"STORE.IN_USE"})
"""A killed process may be there for another moment: who finds it waits, as a supervisor would."""


class Failed(AssertionError):
    """The storm did what must not be done."""


class Process:
    """A child that may be killed at any moment."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._process = FORKS.Process(target=run, args=(job,), daemon=True)
        self._process.start()
        self.pid = self._process.pid or 0

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    @property
    def said(self) -> str:
        """How it ended, by itself: ``ended`` or the code of an error; empty if it was killed."""
        return self.job.end.read_text() if self.job.end.exists() else ""

    @property
    def log(self) -> str:
        path = self.job.end.with_suffix(".log")
        return path.read_text() if path.exists() else ""

    def send(self, number: signal.Signals) -> bool:
        """False if it was gone already."""
        if not self.alive:
            return False
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return False
        return True

    def kill(self) -> bool:
        killed = self.send(signal.SIGKILL)
        self._process.join(60)
        return killed

    def join(self, seconds: float) -> bool:
        self._process.join(seconds)
        return not self.alive


class Storm:
    def __init__(
        self, program: str, seed: int, parts: int, base: Path, say: Callable[[str], None], *,
        server: Server | None = None, master: str | None = None,
    ) -> None:  # fmt: skip
        self.program, self.seed, self.server, self.master = program, seed, server, master
        self.choose = random.Random(f"{program} {seed}")
        self._arrivals = random.Random(seed)
        """Of its own: how often it is asked depends on the machine, and what is chosen must not."""
        self._strategies = random.Random(seed + 1)
        """Every driver has others, and changes them when it leads."""
        self.base = base
        self.folder = base / "disk"
        """What can run full: the store, its input and its sinks."""
        self.counts: Counter[str] = Counter()
        self.kills = 0
        self.story: list[str] = []
        self.tolerated: frozenset[str] = RIVALS
        """Errors that a process may end with now."""
        self.filters = 0
        self._say = say
        self._began = time.monotonic()
        self._started = 0
        self._fed = 0
        self._parts = parts
        self.driver: Process | None = None
        self.standby: Process | None = None
        self.pusher: Process | None = None
        for part in (self.folder, base / "ends", self.folder / "queue"):
            part.mkdir(parents=True)
        self.small_disk = _mount(self.folder) if server is None and master is None else False
        (self.folder / "queue").mkdir(exist_ok=True)
        self._lay_out()

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def tell(self, what: str) -> None:
        self.story.append(f"{time.monotonic() - self._began:8.2f} s  {what}")
        self._say(f"{self.kills:>3} kills here: {what}")

    def killed(self, what: str, times: int = 1) -> None:
        self.counts[what] += times
        self.kills += times

    # -- processes -----------------------------------------------------------------------------------------

    def start(self, what: str, **arms: Any) -> Process:
        self._started += 1
        end = self.base / "ends" / f"{self._started:04d}-{what}"
        url = self.server.url if self.server else None
        recovery = self._strategies.randrange(1 << 30)
        return Process(Job(what, self.program, self.folder, end, url, self.master, recovery=recovery, **arms))

    def up(self, **arms: Any) -> Process:
        """A live driver; one with ``arms`` is a new one."""
        if self.driver is not None and (arms or not self.driver.alive):
            self.down()
        if self.driver is None:
            self.driver = self.start("live", **arms)
        return self.driver

    def pair(self, **arms: Any) -> tuple[Process, Process]:
        """Beside the driver, one that stands by; ``arms`` are for this one."""
        self.tolerated |= {"STORE.FENCED"}  # one that is slow is replaced
        self.look()
        driver = self.up()
        if self.standby is not None and arms:
            self.down()
            driver = self.up()
        self.wait_for(driver)
        if self.standby is None:
            self.standby = self.start("live", standby=True, **arms)
        return driver, self.standby

    def wait_for(self, driver: Process) -> None:
        """Until it leads: a harm that comes earlier shows little."""
        self.pause(PATIENCE, lambda: self.leader() == driver.job.driver or not driver.alive)

    def leader(self) -> str:
        catalog = self.catalog()
        if catalog is None:
            return ""
        try:
            return catalog.leases.leader(self.program)
        finally:
            catalog.close()

    def promote(self) -> None:
        """The one that stood by is the one that leads from now on."""
        self.driver, self.standby = self.standby, None

    def down(self) -> bool:
        """Kills the drivers, if they are there; True if the one that leads was."""
        if self.standby is not None:
            if self.standby.kill():
                self.killed("standby")
            self.check(self.standby)
            self.standby = None
        if self.driver is None:
            return False
        killed = self.driver.kill()
        self.check(self.driver)
        self.driver = None
        return killed

    def check(self, process: Process) -> None:
        """One that has ended, by itself or not."""
        if process.said not in ("", "ended", *self.tolerated) or (process.said == "" and "Traceback" in process.log):
            raise Failed(f"{process.job.what} ended with {process.said}\n{process.log}")

    def pause(self, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        """Input arrives meanwhile. True when ``until`` came true."""
        end = time.monotonic() + seconds
        while not until():
            left = end - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(left, 0.02))
            if self._arrivals.random() < 0.1:
                self.feed()
            self.look()
        return True

    def look(self) -> None:
        """Who has ended though nobody killed him is started again, if he had a reason."""
        if self.standby is not None and not self.standby.alive and self.standby.job.at is None:
            self.check(self.standby)
            if self.standby.said not in self.tolerated:
                raise Failed(f"the driver that stands by ended\n{self.standby.log}")
            self.standby = None
        if self.driver is not None and not self.driver.alive and self.driver.job.at is None:
            self.check(self.driver)
            if self.driver.said == "":
                raise Failed(f"the driver is gone without a word\n{self.driver.log}")
            if self.standby is not None:
                self.promote()
            else:
                self.driver = self.start("live") if self.driver.said in self.tolerated else None
        if self.pusher is None or not self.pusher.alive:
            if self.pusher is not None:
                self.check(self.pusher)
            self.pusher = self.start("push")

    # -- input ---------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        program = PROGRAMS[self.program]
        for stream, frames in program.rows(self.seed, self._parts).items():
            how = program.feeds[stream].how
            (self.base / "waiting" / stream).mkdir(parents=True)
            if how != "push":
                arriving(self.folder, stream).mkdir(parents=True)
            for part, frame in enumerate(frames):
                target = self.base / "waiting" / stream / f"{part:05d}.{how}"
                if frame.height == 0:
                    continue
                if how == "jsonl":
                    texts = pl.selectors.datetime().dt.strftime("%Y-%m-%dT%H:%M:%S%.fZ")
                    frame.with_columns(texts).write_ndjson(target)
                else:
                    frame.write_parquet(target)

    def feed(self) -> bool:
        """The next part arrives in every stream; False when there is none."""
        if self._fed == self._parts:
            return False
        for stream, feed in PROGRAMS[self.program].feeds.items():
            source = self.base / "waiting" / stream / f"{self._fed:05d}.{feed.how}"
            if not source.exists():
                continue
            if feed.how == "push":
                target = self.folder / "queue" / f"{self._fed:05d}-{stream}.parquet"
            else:
                target = arriving(self.folder, stream) / source.name
            try:
                shutil.copyfile(source, target.with_suffix(".tmp"))
            except OSError:  # the disk is full
                return False
            target.with_suffix(".tmp").rename(target)
        self._fed += 1
        return True

    def book(self, word: str) -> set[tuple[str, str]]:
        """Stream and part of what was ``tried`` or ``taken``."""
        book = self.base / "ends" / "book"
        lines = [line.split() for line in book.read_text().splitlines()] if book.exists() else []
        return {(line[1], line[2]) for line in lines if line[0] == word}

    # -- the end -------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """All input arrives and is worked off by a clean run."""
        self.tell("calm: the rest of the input, and a clean run")
        while self.feed():
            pass
        queued = {
            (path.stem.split("-")[1], path.stem.split("-")[0]) for path in (self.folder / "queue").glob("*.parquet")
        }
        if not self.pause(PATIENCE, lambda: queued <= self.book("tried") and not self._pushing()):
            raise Failed("the pushes hang")
        assert self.pusher is not None
        self.pusher.kill()
        for process in (self.standby, self.driver):
            if process is not None and process.alive and process.job.at is None:
                process.send(signal.SIGTERM)
                if not process.join(PATIENCE):
                    raise self.hangs(process, "does not stop")
        self.down()
        self.alone("drain")

    def _pushing(self) -> bool:
        """The last push is neither taken nor given up."""
        return self.pusher is not None and self.pusher.alive and bool(self._open())

    def _open(self) -> set[tuple[str, str]]:
        book = self.base / "ends" / "book"
        lines = book.read_text().splitlines() if book.exists() else []
        return {tuple(lines[-1].split()[1:])} if lines and lines[-1].startswith("tried") else set()  # type: ignore[misc]

    def alone(self, what: str, **arms: Any) -> None:
        """A process that must come to its end."""
        deadline = time.monotonic() + 2 * PATIENCE
        while True:
            process = self.start(what, **arms)
            if not process.join(max(1.0, deadline - time.monotonic())):
                raise self.hangs(process, "does not end")
            if process.said != "STORE.IN_USE" or time.monotonic() > deadline:
                break
        if process.said != "ended":
            raise Failed(f"{what} ended with {process.said or 'nothing'}\n{process.log}")

    def hangs(self, process: Process, how: str) -> Failed:
        """With where its threads stand."""
        process.send(signal.SIGUSR1)
        process.join(2)
        log = process.log
        process.kill()
        return Failed(f"{process.job.what} {how}\n{log}")

    def catalog(self) -> Catalog | None:
        return Catalog.open(self.store) if Catalog.is_in(self.store) else None

    def close(self, keep: bool) -> None:
        for process in (self.driver, self.standby, self.pusher):
            if process is not None:
                process.kill()
        if self.small_disk:
            if keep:
                shutil.copytree(self.folder, self.base / "kept")
            _unmount(self.folder)
        if not keep:
            shutil.rmtree(self.base)


def _mount(folder: Path) -> bool:
    """A small disk of its own, if that is allowed here: other storms must not feel it when it is full."""
    command = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        return False
    atexit.register(_unmount, folder)
    return True


def _unmount(folder: Path) -> None:
    if os.path.ismount(folder):
        subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=False)
