"""What a storm does to a store: each kind a small function. A new kind is a function and a line in KINDS."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
from click.testing import CliRunner

from tests.chaos.child import LEASE, ORPHANS
from tests.chaos.programs import PROGRAMS
from tests.chaos.storm import PATIENCE, RIVALS, Failed, Process, Storm
from tests.recovery.test_power_cut import undurable
from waterclock.catalog import Catalog
from waterclock.cli.main import main
from waterclock.crashpoints import PLACES, RARE

INGEST = tuple(place for place in PLACES if place.startswith("ingest."))
GARBAGE = tuple(place for place in PLACES if place.startswith(("compact.", "trim.")))
SNAPSHOT = tuple(place for place in RARE if place.startswith("snapshot."))
REBUILD = tuple(place for place in RARE if place.startswith("rebuild."))
UNSYNCED = ("sync.before_mark", "epoch.after_commit")
"""Something is committed here that is not synced."""
IN_TASKS = tuple(place for place in PLACES if place.startswith("task."))


def _end(storm: Storm, most: float, kind: str) -> None:
    """Kills the driver at a random moment."""
    storm.pause(storm.choose.random() * most)
    if storm.down():
        storm.killed(kind)


# -- the driver --------------------------------------------------------------------------------------------


def kill(storm: Storm) -> None:
    storm.tell("driver: killed at a random moment")
    storm.up()
    _end(storm, 1.0 if storm.master is None else 8.0, "driver")


def crash(storm: Storm) -> None:
    """At a named place. On Spark tasks run elsewhere."""
    places = PLACES if storm.master is None else tuple(place for place in PLACES if place not in IN_TASKS)
    at = f"{storm.choose.choice(places)}:{storm.choose.randint(1, 4)}"
    storm.tell(f"driver: killed at {at}")
    driver = storm.up(at=at)
    reached = storm.pause(3.0 if storm.master is None else 30.0, lambda: not driver.alive)
    if storm.down() or reached:
        storm.killed("driver at a place" if reached else "driver")


def stop(storm: Storm) -> None:
    """SIGTERM; it may end well, or be killed in the middle of that."""
    storm.up()
    storm.pause(storm.choose.random())
    driver = storm.up()
    storm.tell("driver: stopped")
    driver.send(signal.SIGTERM)
    storm.driver = None
    if storm.choose.random() < 0.6:
        time.sleep(storm.choose.random() * 0.2)
        if driver.kill():
            storm.tell("driver: killed while it stops")
            storm.killed("stop")
    elif not driver.join(PATIENCE):
        raise storm.hangs(driver, "does not stop")
    storm.check(driver)


def freeze(storm: Storm) -> None:
    """Longer than its lease; another one takes over, and then the old one wakes up."""
    if storm.choose.random() < 0.5:
        at = f"{storm.choose.choice(PLACES)}:{storm.choose.randint(1, 3)}"
        old = storm.up(at=at, signal=signal.SIGSTOP)
        storm.tell(f"driver: frozen at {at}")
        storm.pause(2.0, lambda: not old.alive or _stopped(old.pid))
    else:
        old = storm.up()
        storm.tell("driver: frozen at a random moment")
        storm.pause(storm.choose.random())
        old = storm.up()
    old.send(signal.SIGSTOP)
    storm.driver = None
    time.sleep(1.5 * LEASE)
    storm.up()
    replaced = storm.pause(4.0, lambda: _leads(storm))
    storm.pause(storm.choose.random() * 1.5)
    storm.tell("driver: the frozen one wakes up")
    if not replaced and not _leads(storm):  # it sleeps in a transaction, and so nobody can do anything
        if storm.driver is not None:
            storm.driver.kill()
        old.send(signal.SIGCONT)
        storm.driver = old
        return _end(storm, 0.5, "driver after it was frozen")
    _wake(storm, old)
    storm.counts["takeover"] += 1
    return _end(storm, 0.5, "driver after a takeover")


def _leads(storm: Storm) -> bool:
    """Whether it is the one that the storm takes for it: a frozen one may have taken the lease just before."""
    return storm.driver is not None and storm.leader() == storm.driver.job.driver


def power(storm: Storm) -> None:
    """What was not synced is gone, or half of it."""
    at = f"{storm.choose.choice(UNSYNCED)}:{storm.choose.randint(1, 12)}" if storm.choose.random() < 0.6 else None
    driver = storm.up(at=at) if at else storm.up()
    storm.wait_for(driver)
    reached = storm.pause(3.0 if at else 0.3 + storm.choose.random(), lambda: not driver.alive)
    if storm.down() or reached:
        storm.tell(f"driver: killed by a power cut{f' at {at}' if reached else ''}")
        storm.killed("power cut")
        _lose(storm)


def _lose(storm: Storm) -> None:
    """What no mark says to be synced."""
    if not (storm.store / "catalog.sqlite").exists():
        return
    first: dict[str, int] = {}
    for path, offset, length in undurable(storm.store):
        first[path] = min(first.get(path, 1 << 62), offset + storm.choose.choice((0, length // 2)))
    for path, keep in first.items():
        file = storm.store / path
        if file.exists():
            storm.counts["torn files"] += 1
            _tear(file, keep, storm.choose.random() < 0.5)


def _tear(file: Path, keep: int, zero: bool) -> None:
    size = file.stat().st_size
    os.truncate(file, min(keep, size))
    if zero:
        os.truncate(file, size)


def rebuild(storm: Storm) -> None:
    """A power cut, and then a kill while state is computed again; or even another power cut."""
    power(storm)
    for _ in range(storm.choose.randint(1, 3)):
        at = f"{storm.choose.choice(REBUILD)}:{storm.choose.randint(1, 3)}" if storm.choose.random() < 0.8 else None
        driver = storm.up(at=at) if at else storm.up()
        storm.wait_for(driver)
        reached = storm.pause(2.0 if at else storm.choose.random() * 0.4, lambda: not driver.alive)  # noqa: B023
        cut = storm.choose.random() < 0.6
        storm.tell(f"driver: killed {f'at {at}' if reached else 'soon after'}{', by a power cut' if cut else ''}")
        if storm.down() or reached:
            storm.killed("driver while it rebuilds" if reached else "driver after a loss")
        if cut:
            storm.counts["second power cut"] += 1
            _lose(storm)


def snapshot(storm: Storm) -> None:
    """Killed in the middle of one; now and then it has a name, and stays."""
    at = f"{storm.choose.choice(SNAPSHOT)}:{storm.choose.randint(1, 2)}" if storm.choose.random() < 0.7 else None
    driver = storm.up(at=at) if at else storm.up()
    storm.wait_for(driver)
    catalog = storm.catalog()
    if catalog is not None:
        named = [each for each in catalog.snapshots.of(storm.program) if each.name is not None]
        if len(named) < 3 and catalog.epochs.vertices():
            catalog.transact(lambda: catalog.snapshots.begin(storm.program, f"s{len(named)}"))
            storm.counts["named snapshot"] += 1
        catalog.close()
    storm.tell(f"driver: killed {f'at {at}' if at else 'while a snapshot is taken'}")
    reached = storm.pause(2.0 if at else storm.choose.random() * 0.3, lambda: not driver.alive)
    if storm.down() or reached:
        storm.killed("driver in a snapshot" if reached or at is None else "driver")


def clock(storm: Storm) -> None:
    jumps = tuple((0.2 * i, storm.choose.choice((-7e5, -4000.0, -15.0, 15.0, 4000.0, 7e5))) for i in range(1, 5))
    storm.tell(f"driver: its clock jumps {[shift for _, shift in jumps]}")
    storm.counts["clock jump"] += len(jumps)
    storm.up(jumps=jumps)
    storm.pause(1.0)
    _end(storm, 0.5, "driver after clock jumps")


def full(storm: Storm) -> None:
    if not storm.small_disk:
        return kill(storm)
    storm.up()
    storm.pause(storm.choose.random() * 0.5)
    storm.tell("disk: full")
    storm.tolerated = RIVALS | {"STORE.FULL", "RUN.SINK_FAILED", "RUN.SOURCE_FAILED"}
    ballast = storm.folder / "ballast"
    _fill(ballast)
    driver = storm.up()
    failed = storm.pause(2.0, lambda: driver.said in storm.tolerated - RIVALS)
    if failed and "No space left" not in driver.log:
        raise Failed(f"a full disk is not told\n{driver.log}")
    if failed:
        storm.counts["disk full"] += 1
    ballast.unlink()
    storm.tell("disk: has space again")
    _end(storm, 0.5, "driver after a full disk")
    storm.look()
    storm.tolerated = RIVALS
    return None


def _fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:  # no space left
                pass


# -- what is said to it from outside -----------------------------------------------------------------------


def scale(storm: Storm) -> None:
    """Before a kill: the epochs in hand have as many tasks as were written down."""
    storm.up()
    catalog = storm.catalog()
    if catalog is not None:
        for vertex in catalog.epochs.vertices():
            tasks = storm.choose.choice((None, 1, 2, 3, 5))
            storm.tell(f"driver: {vertex.name} gets {tasks} tasks")
            catalog.epochs.set_tasks(vertex.name, tasks)
            storm.counts["scaled"] += 1
        catalog.close()
    _end(storm, 0.7, "driver while scaling")


def leave_out(storm: Storm) -> None:
    """A filter is added, or taken back."""
    found, catalog = PROGRAMS[storm.program].filtered, storm.catalog()
    storm.up()
    if found is not None and catalog is not None and any(v.name == found[0] for v in catalog.epochs.vertices()):
        holding = catalog.filters.holding(found[0])
        if holding:
            catalog.filters.remove(holding[0].id)
        elif storm.filters < 2:
            catalog.filters.add(*found)
            storm.filters += 1
        storm.tell(f"driver: {found[0]} {'no longer leaves' if holding else 'leaves'} out {found[2]}")
        storm.counts["filter"] += 1
    if catalog is not None:
        catalog.close()
    _end(storm, 0.7, "driver while filtering")


def collect(storm: Storm) -> None:
    """By the command line, next to a driver or while there is none."""
    if storm.choose.random() < 0.8 and storm.down():
        storm.killed("driver")
    at = f"{storm.choose.choice(GARBAGE)}:{storm.choose.randint(1, 2)}" if storm.choose.random() < 0.7 else None
    if not Catalog.is_in(storm.store):
        return
    process = storm.start("gc", at=at)
    if process.join(storm.choose.random() * 0.3 if at is None else 20):
        storm.check(process)
    else:
        process.kill()
    if process.said == "":
        storm.tell(f"gc: killed {f'at {at}' if at else 'at a random moment'}")
        storm.killed("gc")


# -- who pushes --------------------------------------------------------------------------------------------


def kill_pusher(storm: Storm) -> None:
    at = f"{storm.choose.choice(INGEST)}:{storm.choose.randint(1, 3)}" if storm.choose.random() < 0.6 else None
    if storm.pusher is not None and storm.pusher.kill():
        storm.killed("pusher")
    storm.tell(f"pusher: killed{f' at {at}' if at else ''}")
    storm.pusher = pusher = storm.start("push", at=at)
    storm.up()
    storm.feed()
    reached = storm.pause(1.0, lambda: storm.pusher is not pusher or not pusher.alive)
    if reached or pusher.kill():
        storm.killed("pusher at a place" if reached else "pusher")


def freeze_pusher(storm: Storm) -> None:
    """Between its files and its commit, for longer than files that nobody names are kept."""
    if storm.pusher is not None and storm.pusher.kill():
        storm.killed("pusher")
    storm.tell("pusher: frozen in a push")
    storm.pusher = pusher = storm.start("push", at="ingest.before_commit:1", signal=signal.SIGSTOP)
    storm.up()
    storm.feed()
    if storm.pause(2.0, lambda: _stopped(pusher.pid)):
        storm.pause(2 * ORPHANS + 1.5)
        storm.counts["frozen push"] += 1
    pusher.send(signal.SIGCONT)
    _end(storm, 0.5, "driver")


# -- two drivers -------------------------------------------------------------------------------------------


def _there(storm: Storm) -> bool:
    """Both drivers, as the catalog knows them."""
    catalog = storm.catalog()
    if catalog is None:
        return False
    try:
        names = catalog.leases.drivers_of(storm.program)
        leads = catalog.leases.leader(storm.program)
    finally:
        catalog.close()
    driver, standby = storm.driver, storm.standby
    return driver is not None and standby is not None and standby.job.driver in names and leads == driver.job.driver


def takeover(storm: Storm) -> None:
    """The one that leads is killed or frozen; the other one goes on, and is killed in turn."""
    at = f"{storm.choose.choice(PLACES + RARE)}:{storm.choose.randint(1, 4)}" if storm.choose.random() < 0.5 else None
    how = storm.choose.choice((signal.SIGKILL, signal.SIGSTOP))
    if at is not None:
        storm.down()
        storm.up(at=at, signal=how)
    old, heir = storm.pair()
    if not storm.pause(10.0, lambda: _there(storm) or not old.alive):
        return _end(storm, 0.5, "driver")
    storm.pause(2.0 if at else storm.choose.random(), lambda: not old.alive or _stopped(old.pid))
    killed = "killed" if how == signal.SIGKILL else "frozen"
    storm.tell(f"drivers: the one that leads is {killed}{f' at {at}' if at else ''}")
    old.send(how)
    storm.promote()
    if not storm.pause(PATIENCE if how == signal.SIGKILL else 4.0, lambda: _leads(storm)):
        if how == signal.SIGKILL:
            raise storm.hangs(heir, "does not take over")
        old.send(signal.SIGCONT)  # it sleeps in a transaction
        heir.kill()
        storm.driver = old
        return _end(storm, 0.5, "driver after it was frozen")
    storm.counts["takeover"] += 1
    if how == signal.SIGKILL:
        old.kill()
        storm.killed("driver that leads")
        storm.check(old)
    else:
        storm.pause(storm.choose.random())
        _wake(storm, old)
    if storm.choose.random() < 0.5:
        return None  # it gets one to stand by it next time
    return _end(storm, 1.0, "driver after a takeover")


def move(storm: Storm) -> None:
    """One of the two is killed while a vertex moves, or while both run it."""
    at = None
    if storm.choose.random() < 0.5:
        at = f"{storm.choose.choice((*PLACES, 'move.before_finish'))}:{storm.choose.randint(1, 4)}"
    leader, other = storm.pair(at=at) if at else storm.pair()
    if not storm.pause(10.0, lambda: _there(storm) or not other.alive) or not leader.alive:
        return _end(storm, 0.5, "driver")
    catalog = storm.catalog()
    assert catalog is not None
    names = [each.name for each in catalog.epochs.vertices()]
    chosen = storm.choose.sample(names, storm.choose.randint(1, len(names))) if names else []
    for name in chosen:
        if storm.choose.random() < 0.6:
            command = ["move", name, other.job.driver, "--store", str(storm.store), "--no-wait"]
            result = CliRunner().invoke(main, command)
            storm.counts["move"] += result.exit_code == 0
        else:
            hosts = [leader.job.driver, other.job.driver]
            catalog.transact(lambda name=name, hosts=hosts: catalog.hosts.set(name, hosts))  # type: ignore[misc]
            storm.counts["run twice"] += 1
    catalog.close()
    storm.pause(2.0 if at else storm.choose.random() * 0.8, lambda: not other.alive)
    if not other.alive or storm.choose.random() < 0.5:
        storm.tell(f"drivers: the one that {', '.join(chosen)} move to is killed {f'at {at}' if at else ''}")
        other.kill()
        storm.check(other)
        storm.standby = None
        storm.killed("driver that is moved to")
    else:
        storm.tell(f"drivers: the one that {', '.join(chosen)} move from is killed")
        if leader.kill():
            storm.killed("driver that is moved from")
        storm.check(leader)
        storm.promote()
        if not storm.pause(PATIENCE, lambda: _leads(storm) or not other.alive):
            raise storm.hangs(other, "does not take over")
        storm.counts["takeover"] += 1
    storm.pause(storm.choose.random())
    return None


def _wake(storm: Storm, old: Process) -> None:
    """One that was frozen and replaced: it must see that, and end."""
    deadline = time.monotonic() + PATIENCE
    while old.alive:
        old.send(signal.SIGCONT)  # again: it may come to its place only now
        if old.join(0.2) or time.monotonic() > deadline:
            break
    if old.alive:
        raise storm.hangs(old, "goes on though it was replaced")
    if old.said not in ("STORE.FENCED", "STORE.IN_USE"):
        raise Failed(f"a driver that was replaced ended with {old.said or 'nothing'}\n{old.log}")


def _stopped(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    except psutil.NoSuchProcess:
        return False


# -- the server of the catalog -----------------------------------------------------------------------------


def cut(storm: Storm) -> None:
    storm.wait_for(storm.up())  # a store is made only while the server answers
    for _ in range(5):
        storm.pause(storm.choose.random() * 0.3)
        assert storm.server is not None
        storm.counts["connections cut"] += storm.server.cut()
    storm.tell("server: connections cut")


def kill_server(storm: Storm) -> None:
    how = storm.choose.choice((signal.SIGKILL, signal.SIGINT))
    assert storm.server is not None
    storm.up()
    before, storm.tolerated = storm.tolerated, storm.tolerated | {"STORE.NO_SERVER"}
    storm.pause(storm.choose.random() * 0.5)
    storm.tell(f"server: {'killed' if how == signal.SIGKILL else 'restarted'}")
    storm.server.stop(how)
    storm.pause(storm.choose.random() * 0.5)
    storm.server.start()
    storm.killed("server", how == signal.SIGKILL)
    storm.counts["server restarted"] += how != signal.SIGKILL
    if storm.choose.random() < 0.5:
        _end(storm, 0.7, "driver")
    storm.pause(0.3)
    storm.look()
    storm.tolerated = before


# -- Spark -------------------------------------------------------------------------------------------------


def _kill_children(storm: Storm, sign: str, kind: str, most: int) -> None:
    """Those of the driver whose command has the sign, once it has some."""
    driver = storm.up()
    found: list[psutil.Process] = []

    def there() -> bool:
        found[:] = _children(driver.pid, sign)
        return bool(found) or not driver.alive

    storm.pause(20.0, there)  # without rows there are no workers
    for _ in range(storm.choose.randint(1, most)):
        storm.pause(storm.choose.random() * 3)
        if there() and found:
            storm.choose.choice(found).kill()
            storm.tell(f"spark: {kind} killed")
            storm.killed(kind)


def _children(pid: int, sign: str) -> list[psutil.Process]:
    found = []
    try:
        for process in psutil.Process(pid).children(recursive=True):
            try:
                if sign in " ".join(process.cmdline()):
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.ZombieProcess):
                continue
    except psutil.NoSuchProcess:
        pass
    return found


FAILS = frozenset({"RUN.STEP_FAILED", "RUN.SPARK_FAILED", "RUN.SPARK_LOST"})
"""What a driver may say when Spark has lost too much."""


def kill_worker(storm: Storm) -> None:
    storm.tolerated = RIVALS | FAILS
    _kill_children(storm, "pyspark.daemon", "worker", 6)


def kill_executor(storm: Storm) -> None:
    storm.tolerated = RIVALS | FAILS
    _kill_children(storm, "CoarseGrainedExecutorBackend", "executor", 2)


def kill_jvm(storm: Storm) -> None:
    storm.tolerated = RIVALS | FAILS
    _kill_children(storm, "SparkSubmit", "JVM", 1)
    driver = storm.driver
    if driver is not None and not driver.join(PATIENCE):
        raise storm.hangs(driver, "goes on without its JVM")


@dataclass(frozen=True)
class Kind:
    harm: Callable[[Storm], None]
    weight: int


_LOCAL = (
    Kind(kill, 4), Kind(crash, 12), Kind(stop, 3), Kind(freeze, 2), Kind(clock, 2), Kind(scale, 3), Kind(leave_out, 1),
    Kind(collect, 3), Kind(kill_pusher, 3), Kind(freeze_pusher, 1),
)  # fmt: skip
KINDS = {
    "local": (*_LOCAL, Kind(power, 4), Kind(full, 2), Kind(snapshot, 2)),
    "loss": (Kind(rebuild, 6), Kind(power, 2), Kind(snapshot, 3), Kind(crash, 1), Kind(scale, 1), Kind(leave_out, 1)),
    "drivers": (Kind(takeover, 5), Kind(move, 5), Kind(power, 1), Kind(rebuild, 2), Kind(snapshot, 1), Kind(scale, 1)),
    "server": (*_LOCAL, Kind(cut, 4), Kind(kill_server, 4), Kind(takeover, 2), Kind(move, 2)),
    "spark": (Kind(kill_worker, 8), Kind(kill, 1), Kind(crash, 1), Kind(kill_jvm, 1), Kind(scale, 1)),
    "cluster": (Kind(kill_worker, 4), Kind(kill_executor, 6), Kind(kill_jvm, 1)),
}
