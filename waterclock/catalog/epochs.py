"""Vertices, their recorded intents, committed epochs and state runs.

A snapshot is the row of a committed epoch and the runs that were alive then, so taking one costs nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from waterclock.catalog import counters
from waterclock.catalog.database import Database, transactional
from waterclock.errors import ConfigError
from waterclock.plan.strategy import Strategy
from waterclock.state import Run
from waterclock.storage import Blob
from waterclock.time import BEGINNING

_RUN = """id, operator, kind, path, at, length, checksum, rows,
          least_hash, greatest_hash, least_vs, greatest_ve, level"""
HISTORY_BYTES = 256 << 20
_OPERATOR = re.compile(r"^([0-9a-f]{16}) (.+)$", re.MULTILINE)
_SIGNED = 2**63  # hashes are unsigned; SQL integers are not


Keys = tuple[tuple[int, int], ...]
"""Ranges of hashes; the ends are not in them."""


@dataclass(frozen=True)
class Range:
    """The events ``[start, end)`` of an input stream, and its time before and after them."""

    start: int
    end: int
    old: int
    new: int


@dataclass(frozen=True)
class Intent:
    """What an epoch will do, written down before it is done, so that doing it again gives the same rows."""

    epoch: int
    inputs: dict[str, Range]
    readers: int
    """Tasks that read the input."""
    parts: tuple[int, ...]
    """For each stage behind, how many tasks own a range of keys each."""
    filters: tuple[int, ...] = ()
    """The numbers of the filters that hold."""

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> Intent:
        fields = json.loads(text)
        fields["inputs"] = {name: Range(**values) for name, values in fields["inputs"].items()}
        return Intent(**fields | {name: tuple(fields[name]) for name in ("parts", "filters") if name in fields})


@dataclass(frozen=True)
class Snapshot:
    """Where a vertex stands after an epoch; with its runs, all it needs to go on."""

    epoch: int = -1
    positions: dict[str, int] = field(default_factory=dict)
    ctis: dict[str, int] = field(default_factory=dict)
    """Of the input streams."""
    node_ctis: dict[str, int] = field(default_factory=dict)
    """The CTI that each stateful node has seen, by node and port."""
    tops: dict[str, int] = field(default_factory=dict)
    """The greatest finite time that each stateful node has seen."""
    lows: dict[str, int] = field(default_factory=dict)
    """By node and table: state that ends at or before this is not needed."""
    cti: int = BEGINNING
    output_end: int = 0
    output_rows: int = 0
    digest: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    """By node: rows that user code failed for and that its policy left out, since the beginning."""
    dead_end: int = 0
    """The next number in the stream of dead letters."""
    flows: dict[str, int] = field(default_factory=dict)
    """Rows counted lately: by stream those taken, by node those it gave, by ``target:leg`` those sent to it."""
    paces: dict[str, list[int]] = field(default_factory=dict)
    """By stream: rows, and the event time in microseconds that they cover."""
    committed: int = field(default=0, compare=False)
    """When, by the clock; set by the catalog. An epoch that is done again keeps the time of the first."""

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


class Standing(NamedTuple):
    """What a vertex's next epoch builds on. A result that was computed from another one cannot be committed."""

    epoch: int
    generation: int
    """How often it was rolled back or rebuilt: the same epoch done again has other files."""


@dataclass(frozen=True)
class Vertex:
    name: str
    app: str
    identity: str
    inputs: tuple[str, ...]
    epoch: int
    durable: int
    """From the snapshot of this epoch everything can be had again: its state is saved, or there is none to save."""
    stored: int
    """Up to this epoch the output survives a power cut. It is never below ``durable``."""
    durable_at: int | None
    """When ``stored`` last moved."""
    counters: dict[str, int]
    """Rollbacks, epochs executed again, failures."""
    strategy: Strategy
    base: Snapshot | None
    """From here the state after ``durable`` can be computed, starting with none; None: it is saved."""
    generation: int
    """See ``Standing``."""
    lost: Keys | None
    """Ranges of keys whose state after ``epoch`` is gone and has to be computed from that of ``durable``."""
    history: int
    """So many of its last epochs stay recorded, with the state between them."""


@dataclass(frozen=True)
class Commit:
    intent: Intent
    snapshot: Snapshot
    added: tuple[Run, ...]
    merged: tuple[int, ...]
    """Ids of runs whose rows are now in added ones."""
    generation: int = 0


class Epochs:
    def __init__(self, db: Database) -> None:
        self._db = db

    @transactional
    def create(self, name: str, app: str, identity: str, plan: str, inputs: Sequence[str]) -> None:
        """Creates the vertex, or checks that it is the same; one that never computed anything may change."""
        rows = self._db.query("SELECT identity, app FROM vertices WHERE name = ?", name)
        if rows and rows[0][1] != app:
            raise ConfigError("PLAN.OF_ANOTHER_APP", name=name, app=rows[0][1])
        changed = bool(rows) and rows[0][0] != identity
        if changed and not self._is_unused(name):
            raise ConfigError("PLAN.CHANGED", name=name)
        if changed:
            # How many tasks it gets, and its filters, are what an operator said: they stay if they still can.
            self._db.execute("DELETE FROM epochs WHERE vertex = ?", name)
            self._db.execute(
                "UPDATE vertices SET identity = ?, plan = ?, inputs = ? WHERE name = ?",
                identity, plan, json.dumps(list(inputs)), name,
            )  # fmt: skip
            marks = ", ".join("?" * len(inputs))
            self._db.execute(f"DELETE FROM filters WHERE vertex = ? AND stream NOT IN ({marks})", name, *inputs)
        if not rows:
            self._db.execute(
                """INSERT INTO vertices (name, app, identity, plan, inputs, epoch, durable_epoch)
                   VALUES (?, ?, ?, ?, ?, -1, -1)""",
                name,
                app,
                identity,
                plan,
                json.dumps(list(inputs)),
            )

    @transactional
    def drop_unused(self, app: str, named: Collection[str]) -> None:
        """Forgets vertices of the app that never computed anything and are not among the named ones."""
        for vertex in self.vertices():
            if vertex.app == app and vertex.name not in named and self._is_unused(vertex.name):
                for table, column in (("vertices", "name"), ("epochs", "vertex"), ("filters", "vertex")):
                    self._db.execute(f"DELETE FROM {table} WHERE {column} = ?", vertex.name)

    def _is_unused(self, vertex: str) -> bool:
        """No epoch was ever committed, not even one that was rolled back."""
        rows = self._db.query(
            """SELECT 1 FROM vertices WHERE name = ? AND epoch = -1
               AND NOT EXISTS (SELECT 1 FROM epochs WHERE vertex = name AND expected IS NOT NULL)""",
            vertex,
        )  # fmt: skip
        return bool(rows)

    def vertices(self) -> list[Vertex]:
        rows = self._db.query(
            """SELECT name, app, identity, inputs, epoch, durable_epoch, stored_epoch, durable_at, counters,
                      strategy, base, generation, lost, history
               FROM vertices ORDER BY name"""
        )
        return [_vertex(row) for row in rows]

    def get(self, name: str) -> Vertex:
        return next(vertex for vertex in self.vertices() if vertex.name == name)

    def operators(self, vertex: str) -> dict[str, str]:
        """What its stateful operators do, by the names that runs have for them."""
        rows = self._db.query("SELECT plan FROM vertices WHERE name = ?", vertex)
        return dict(_OPERATOR.findall(rows[0][0]))

    def set_strategy(self, vertex: str, strategy: Strategy) -> None:
        self._db.execute("UPDATE vertices SET strategy = ? WHERE name = ?", strategy.to_json(), vertex)

    def set_history(self, vertex: str, epochs: int) -> None:
        self._db.execute("UPDATE vertices SET history = ? WHERE name = ?", epochs, vertex)

    def history_floor(self, vertex: Vertex) -> int:
        """The epoch that its history begins behind: what was merged away since takes at most ``HISTORY_BYTES``."""
        floor = vertex.epoch - vertex.history
        rows = self._db.query(
            """SELECT removed, sum(length) FROM runs WHERE vertex = ? AND removed > ?
               GROUP BY removed ORDER BY removed DESC""",
            vertex.name, floor,
        )  # fmt: skip
        size = 0
        for removed, length in rows:
            size += length
            if size > HISTORY_BYTES:
                return int(removed)
        return floor

    def count(self, vertex: str, numbers: dict[str, int]) -> None:
        counters.add(self._db, "vertices", vertex, numbers)

    def failed(self, vertex: str, epoch: int) -> None:
        counters.failed(self._db, "vertices", vertex, epoch)

    @transactional
    def record(self, vertex: str, intent: Intent, generation: int) -> Intent | None:
        """Writes an intent, unless another driver was faster: gives the one that holds, None if it was even done."""
        if self.standing(vertex) != (intent.epoch - 1, generation):
            return None
        pending = self.pending(vertex)
        if pending is None:
            self.write_intent(vertex, intent)
        return pending or intent

    def write_intent(self, vertex: str, intent: Intent) -> None:
        self._db.execute("INSERT INTO epochs VALUES (?, ?, ?, NULL, NULL)", vertex, intent.epoch, intent.to_json())

    def rewrite_intent(self, vertex: str, intent: Intent) -> bool:
        """Another way to do an epoch that never was committed; False, and nothing done, if it was."""
        return bool(
            self._db.execute(
                "UPDATE epochs SET intent = ? WHERE vertex = ? AND epoch = ? AND snapshot IS NULL AND expected IS NULL",
                intent.to_json(), vertex, intent.epoch,
            )
        )  # fmt: skip

    def standing(self, vertex: str) -> Standing:
        return Standing(*self._db.query("SELECT epoch, generation FROM vertices WHERE name = ?", vertex)[0])

    def tasks(self, vertex: str) -> int | None:
        """How many tasks the stages of its epochs get, if somebody said so."""
        return self.heard(vertex)[0]

    def heard(self, vertex: str) -> tuple[int | None, Standing]:
        """Its tasks, and where it stands: one query, made in every turn of an idle vertex."""
        row = self._db.query("SELECT tasks, epoch, generation FROM vertices WHERE name = ?", vertex)[0]
        return row[0], Standing(*row[1:])

    def set_tasks(self, vertex: str, tasks: int | None) -> None:
        self._db.execute("UPDATE vertices SET tasks = ? WHERE name = ?", tasks, vertex)

    def pending(self, vertex: str) -> Intent | None:
        """The next intent that was written but not committed, if any; several while a rollback is made good."""
        rows = self._db.query(
            "SELECT intent FROM epochs WHERE vertex = ? AND snapshot IS NULL ORDER BY epoch LIMIT 1", vertex
        )
        return Intent.from_json(rows[0][0]) if rows else None

    def unfinished(self, vertex: str) -> int:
        """How many epochs are written down and not committed."""
        rows = self._db.query("SELECT count(*) FROM epochs WHERE vertex = ? AND snapshot IS NULL", vertex)
        return int(rows[0][0])

    def expected(self, vertex: str, epoch: int) -> Snapshot | None:
        """What the epoch gave before it was rolled back, if it was."""
        rows = self._db.query("SELECT expected FROM epochs WHERE vertex = ? AND epoch = ?", vertex, epoch)
        return Snapshot(**json.loads(rows[0][0])) if rows and rows[0][0] else None

    @transactional
    def roll_back(self, vertex: str, epoch: int) -> None:
        """Back to the snapshot after ``epoch``; the intents behind it stay, to be executed again."""
        self._db.execute(
            """UPDATE epochs SET expected = coalesce(expected, snapshot), snapshot = NULL
               WHERE vertex = ? AND epoch > ?""",
            vertex,
            epoch,
        )
        self._db.execute("UPDATE vertices SET epoch = ?, generation = generation + 1 WHERE name = ?", epoch, vertex)
        self._db.execute("DELETE FROM runs WHERE vertex = ? AND added > ?", vertex, epoch)
        self._db.execute("UPDATE runs SET removed = NULL WHERE vertex = ? AND removed > ?", vertex, epoch)

    def snapshot(self, vertex: str, epoch: int | None = None) -> Snapshot:
        """After the given epoch, or the newest; before the first epoch, where it starts."""
        if epoch is None:
            epoch = self._db.query("SELECT epoch FROM vertices WHERE name = ?", vertex)[0][0]
        rows = self._db.query("SELECT snapshot FROM epochs WHERE vertex = ? AND epoch = ?", vertex, epoch)
        if rows and rows[0][0]:
            return Snapshot(**json.loads(rows[0][0]))
        starts = self._db.query("SELECT starts FROM vertices WHERE name = ?", vertex)
        return Snapshot(positions=json.loads(starts[0][0]) if starts else {})

    def set_starts(self, vertex: str, starts: Mapping[str, int]) -> None:
        """Where in its inputs a vertex begins that has never computed anything; else at their first events."""
        if self._is_unused(vertex):
            self._db.execute("UPDATE vertices SET starts = ? WHERE name = ?", json.dumps(starts), vertex)

    @transactional
    def commit(self, vertex: str, commit: Commit) -> bool:
        """Marks the epoch done and moves the state. False, and nothing done, if another commit was faster, the vertex
        was rolled back meanwhile, or the epoch is to be done in another way."""
        epoch = commit.intent.epoch
        if self.standing(vertex) != (epoch - 1, commit.generation) or self.pending(vertex) != commit.intent:
            return False
        before = self.expected(vertex, epoch)
        done = replace(commit.snapshot, committed=self._db.now() if before is None else before.committed)
        self._db.execute("UPDATE epochs SET snapshot = ? WHERE vertex = ? AND epoch = ?", done.to_json(), vertex, epoch)
        self._db.execute("UPDATE vertices SET epoch = ? WHERE name = ?", epoch, vertex)
        for run in commit.merged:
            self._db.execute("UPDATE runs SET removed = ? WHERE id = ?", epoch, run)
        for table, low in commit.snapshot.lows.items():
            # A run whose rows are all past the CTI goes as a whole.
            self._db.execute(
                """UPDATE runs SET removed = ?
                   WHERE vertex = ? AND operator = ? AND kind = ? AND removed IS NULL AND greatest_ve <= ?""",
                epoch, vertex, *table.split(":"), low,
            )  # fmt: skip
        self.add_runs(vertex, epoch, commit.added)
        return True

    def add_runs(self, vertex: str, epoch: int, runs: Iterable[Run]) -> None:
        for r in runs:
            self._db.execute(
                """INSERT INTO runs (vertex, operator, kind, added, path, at, length, checksum, rows,
                                     least_hash, greatest_hash, least_vs, greatest_ve, level)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
                vertex, r.operator, r.table, epoch, r.blob.path, r.blob.offset, r.blob.length, r.blob.checksum, r.rows,
                r.least_hash - _SIGNED, r.greatest_hash - _SIGNED, r.least_vs, r.greatest_ve, r.level,
            )  # fmt: skip

    def run_paths(self, vertex: str, after: int, epoch: int) -> set[str]:
        """The files of the state after ``epoch`` that are not in that of an earlier one."""
        rows = self._db.query(
            """SELECT DISTINCT path FROM runs
               WHERE vertex = ? AND added > ? AND added <= ? AND (removed IS NULL OR removed > ?)""",
            vertex, after, epoch, epoch,
        )  # fmt: skip
        return {row[0] for row in rows}

    def runs(self, vertex: str, epoch: int | None = None) -> list[tuple[int, Run]]:
        """The state after an epoch (default: now), with ids, oldest first."""
        if epoch is None:
            rows = self._db.query(f"SELECT {_RUN} FROM runs WHERE vertex = ? AND removed IS NULL ORDER BY id", vertex)
        else:
            rows = self._db.query(
                f"""SELECT {_RUN} FROM runs
                    WHERE vertex = ? AND added <= ? AND (removed IS NULL OR removed > ?) ORDER BY id""",
                vertex, epoch, epoch,
            )  # fmt: skip
        return [_run(row) for row in rows]

    def set_stored(self, vertex: str, epoch: int) -> None:
        self._db.execute(
            "UPDATE vertices SET stored_epoch = ?, durable_at = ? WHERE name = ? AND stored_epoch < ?",
            epoch, self._db.now(), vertex, epoch,
        )  # fmt: skip

    def set_durable(self, vertex: str, epoch: int, base: Snapshot | None = None) -> None:
        self._db.execute(
            "UPDATE vertices SET durable_epoch = ?, base = ? WHERE name = ? AND durable_epoch < ?",
            epoch, base and base.to_json(), vertex, epoch,
        )  # fmt: skip

    def durable_snapshot(self, vertex: Vertex) -> Snapshot:
        """What is needed to have everything again begins here."""
        return vertex.base or self.snapshot(vertex.name, vertex.durable)

    @transactional
    def forget(self, vertex: str, keep: int) -> None:
        """Drops what is only needed for snapshots before epoch ``keep``."""
        self._db.execute("DELETE FROM epochs WHERE vertex = ? AND epoch < ?", vertex, keep)
        self._db.execute("DELETE FROM runs WHERE vertex = ? AND removed IS NOT NULL AND removed <= ?", vertex, keep)

    @transactional
    def lose(self, vertex: str, lost: Keys, gone: Iterable[int], revived: Iterable[int]) -> None:
        """The state of some keys has to be computed again, from what it was after the durable epoch."""
        for run in gone:
            # A global snapshot may name it, if it was alive before.
            self._db.execute(
                "UPDATE runs SET removed = (SELECT epoch FROM vertices WHERE name = vertex) WHERE id = ?", run
            )
        for run in revived:
            self._db.execute("UPDATE runs SET removed = NULL WHERE id = ?", run)
        self._db.execute(
            "UPDATE vertices SET lost = ?, generation = generation + 1 WHERE name = ?", json.dumps(lost), vertex
        )

    @transactional
    def restore(self, vertex: str, standing: Standing, runs: Iterable[Run]) -> None:
        """The lost state, computed again, unless another driver was faster."""
        if self.standing(vertex) == standing:
            self._db.execute("UPDATE vertices SET lost = NULL, generation = generation + 1 WHERE name = ?", vertex)
            self.add_runs(vertex, standing.epoch, runs)

    def history(self, vertex: str, after: int = -1) -> list[tuple[int, Snapshot]]:
        """The committed epochs behind ``after`` that are still known."""
        rows = self._db.query(
            "SELECT epoch, snapshot FROM epochs WHERE vertex = ? AND epoch > ? AND snapshot IS NOT NULL ORDER BY epoch",
            vertex, after,
        )  # fmt: skip
        return [(epoch, Snapshot(**json.loads(text))) for epoch, text in rows]

    def oldest(self, vertex: str) -> int:
        """From the snapshot after this epoch on, all are known; -1: from the beginning."""
        rows = self._db.query("SELECT min(epoch) FROM epochs WHERE vertex = ? AND snapshot IS NOT NULL", vertex)
        oldest = rows[0][0]
        return self.standing(vertex).epoch if oldest is None else -1 if oldest == 0 else int(oldest)

    def recorded(self, vertex: str, after: int, upto: int) -> list[tuple[Intent, Snapshot]]:
        """What the committed epochs behind ``after`` did, and what came of it."""
        rows = self._db.query(
            """SELECT intent, snapshot FROM epochs
               WHERE vertex = ? AND epoch > ? AND epoch <= ? AND snapshot IS NOT NULL ORDER BY epoch""",
            vertex, after, upto,
        )  # fmt: skip
        return [(Intent.from_json(intent), Snapshot(**json.loads(text))) for intent, text in rows]

    def paths(self) -> Iterable[str]:
        return [row[0] for row in self._db.query("SELECT DISTINCT path FROM runs")]

    def state_size(self, vertex: str) -> tuple[int, int, int]:
        """Runs, rows and bytes of live state."""
        row = self._db.query(
            """SELECT count(*), coalesce(sum(rows), 0), coalesce(sum(length), 0)
               FROM runs WHERE vertex = ? AND removed IS NULL""",
            vertex,
        )[0]
        return int(row[0]), int(row[1]), int(row[2])


def _vertex(row: Sequence[Any]) -> Vertex:
    (
        name,
        app,
        identity,
        inputs,
        epoch,
        durable,
        stored,
        durable_at,
        counted,
        strategy,
        base,
        generation,
        lost,
        history,
    ) = row
    return Vertex(
        name, app, identity, tuple(json.loads(inputs)), epoch, durable, stored, durable_at, json.loads(counted),
        Strategy.from_json(strategy), Snapshot(**json.loads(base)) if base else None, generation,
        tuple(tuple(some) for some in json.loads(lost)) if lost else None, history,
    )  # fmt: skip


def _run(row: Sequence[Any]) -> tuple[int, Run]:
    number, operator, kind, path, at, length, checksum, rows, least, greatest, vs, ve, level = row
    blob = Blob(path, at, length, checksum)
    return number, Run(operator, kind, blob, rows, least + _SIGNED, greatest + _SIGNED, vs, ve, level)
