"""Where an app stands, in figures. Ages and durations are in seconds, times of events in microseconds."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Spread:
    """Of the last epochs."""

    median: float
    p95: float
    most: float


@dataclass(frozen=True)
class Task:
    index: int
    rows: int
    """That came to it."""
    seconds: float


@dataclass(frozen=True)
class Straggler:
    """A task that takes at least so many times the median of its stage, epoch after epoch."""

    stage: int
    task: int
    tasks: int
    """In its stage."""
    ratio: float
    """Its seconds to the median's, the least of the last epochs."""
    cause: str
    """``skew``: it has many rows; ``slow``: its rows take long."""
    rows: int
    seconds: float


@dataclass(frozen=True)
class Stage:
    """The tasks of one stage in the last epoch that had several."""

    stage: int
    tasks: int
    rows: int
    median: float
    """Seconds of a task."""
    slowest: tuple[Task, ...]
    """A few, the slowest first."""
    stragglers: tuple[Straggler, ...] = ()


@dataclass(frozen=True)
class StreamRecent:
    """What the running process has seen of a source stream lately."""

    rows_per_second: float | None = None
    rows: int = 0
    """That came in the last ten minutes, late ones that were not taken included; of these, late and bad ones."""
    late: int = 0
    bad: int = 0
    """Bad and quarantined."""


@dataclass(frozen=True)
class VertexRecent:
    """What the running process has seen of a vertex since its start."""

    rows_per_second: float | None = None
    """Taken, over the last seconds."""
    epochs: int = 0
    seconds: float = 0.0
    """Of all these epochs."""
    epoch_seconds: Spread | None = None
    """How long an epoch took, of the last 500."""
    overhead: float | None = None
    """Median seconds of an epoch outside its tasks: planning, scheduling, commit."""
    arrivals: int = 0
    """Epochs that took rows, and their seconds from arrival to commit."""
    arrival_seconds: float = 0.0
    latency: Spread | None = None
    """From the arrival of the oldest row of an epoch to its commit, of the last 500."""
    sent_rows: int = 0
    """Rows and bytes that went from one stage of an epoch to a later one; what stays in its task is not counted."""
    sent_bytes: int = 0
    task_retries: int = 0
    """Tasks that Spark had to try again."""
    grew_from: int | None = None
    """The backlog before it began to grow, if it grows."""
    stages: tuple[Stage, ...] = ()
    left_out: int = 0
    """Rows that ``on_error`` left out in the last ten minutes."""


@dataclass(frozen=True)
class StreamStatus:
    """A source stream. What is counted is counted since it was made, exactly."""

    name: str
    rows: int
    """Taken."""
    counters: dict[str, int]
    """Rows, late and bad ones by policy, quarantined ones, CTIs in the data."""
    cti: int
    ended: bool
    lag: float | None
    """The clock minus the CTI; None without a CTI."""
    cti_age: float | None
    """Since the CTI last moved."""
    row_age: float | None
    """Since the last row came."""
    stalled: float | None
    """Since the first row came that the CTI did not move with, or after."""
    idle: bool
    """Nothing came for the declared time: the CTI goes on by the clock."""
    may_rest: bool
    """It is declared how its time goes on without rows."""
    backlogs: dict[str, int]
    """Rows that each vertex has not yet taken."""
    recent: StreamRecent = StreamRecent()

    def counted(self, kind: str) -> int:
        return sum(number for name, number in self.counters.items() if name.startswith(kind))


@dataclass(frozen=True)
class VertexStatus:
    """A vertex: an output, or a stream that outputs share. Rows and counts since it was made, exactly."""

    name: str
    epoch: int
    durable_epoch: int
    rows_in: int
    rows_out: int
    backlog: int
    """Rows in its input streams that are not yet taken."""
    cti_in: int
    """The least CTI that it has taken from an input."""
    cti: int
    """Of its output."""
    held_by: str | None
    """What keeps the output's CTI behind those of the inputs."""
    state_rows: int
    state_bytes: int
    state_runs: int
    durable_age: float | None = None
    """Since the durable mark last moved."""
    rollbacks: int = 0
    retries: int = 0
    """Recorded epochs that were executed after a crash, a failure or a rollback."""
    failures: int = 0
    failing: int = 0
    """How often the next epoch has failed in a row."""
    left_out: int = 0
    """Rows that user code failed for and that ``on_error`` left out; of these, dead letters."""
    dead_letters: int = 0
    recent: VertexRecent = VertexRecent()

    @property
    def undurable(self) -> int:
        """Epochs that are committed and would not survive a power cut."""
        return self.epoch - self.durable_epoch


@dataclass(frozen=True)
class SinkStatus:
    """What was delivered of an output, since it was made."""

    name: str
    delivered_epoch: int
    rows: int
    waiting: int
    """Epochs that are committed and not delivered."""
    retries: int
    """Deliveries that were made again at a start."""
    failures: int
    failing: int
    """How often the next delivery has failed in a row."""


@dataclass(frozen=True)
class SnapshotStatus:
    """The global snapshots of an app that the store knows."""

    complete: int = 0
    """Kept."""
    pending: int = 0
    """On their way."""
    abandoned: int = 0
    """Of the last ones."""
    complete_age: float | None = None
    """Since the newest complete one was begun."""
    pending_age: float | None = None
    """Since the oldest one on its way was begun."""


@dataclass(frozen=True)
class Disk:
    """Where the store is."""

    size: int
    free: int

    @property
    def used(self) -> float:
        return 1 - self.free / self.size if self.size else 0.0


@dataclass(frozen=True)
class Alert:
    rule: str
    subject: str
    since: float
    """Seconds since 1970."""
    value: float
    threshold: float
    text: str
    advice: str

    @property
    def key(self) -> tuple[str, str]:
        return self.rule, self.subject


@dataclass(frozen=True)
class Status:
    app: str
    state: str
    """running, draining, stopped, failed; dead: its process is gone without a word."""
    seconds: float | None
    """Since the start; of an app that has ended, how long it ran."""
    vertices: tuple[VertexStatus, ...]
    streams: tuple[StreamStatus, ...] = ()
    sinks: tuple[SinkStatus, ...] = ()
    alerts: tuple[Alert, ...] = ()
    restarts: int = 0
    """Since the app first ran on this store."""
    sync_seconds: float | None = None
    """How long it took to make commits durable, the last time."""
    disk: Disk = field(default=Disk(0, 0))
    snapshots: SnapshotStatus = SnapshotStatus()

    @property
    def healthy(self) -> bool:
        return self.state not in ("failed", "dead")

    @property
    def running(self) -> bool:
        return self.state in ("running", "draining")

    @property
    def counters(self) -> dict[str, dict[str, int]]:
        """Per source stream: rows, late and bad ones, exactly."""
        return {stream.name: stream.counters for stream in self.streams}

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"healthy": self.healthy}
