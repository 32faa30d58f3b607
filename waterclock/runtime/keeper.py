"""Off the critical path: makes commits durable, forgets what no snapshot needs, compacts and trims streams."""

from __future__ import annotations

import time
import uuid
from contextlib import suppress
from functools import partial
from pathlib import Path

from waterclock import crashpoints
from waterclock.catalog import Snapshot, StreamRow, Vertex
from waterclock.plan.guarded import dead_stream
from waterclock.plan.strategy import REPLAY
from waterclock.runtime.garbage import collectable, low_water, replay_base
from waterclock.runtime.log import StreamReader
from waterclock.runtime.store import INCOMING, NAMED_WITHIN, Store
from waterclock.schema import VS, bounds
from waterclock.storage.blobs import write_parquet
from waterclock.streams import Segment

GROUP = 16
"""So many segments of one level become one of the next."""
MOST_GROUPS = 8
"""Merged in one go; the rest waits for the next."""
FULL = 128 << 20
"""Segments of this many bytes are not merged further."""
LARGE = 4 << 20
"""Segments of this many bytes wait until the app has time: they do no harm but take space."""
MOST_LARGE = 4 << 30
"""But no more bytes of them than this."""
ORPHAN_AGE = 2 * NAMED_WITHIN
"""A growing file that nobody names is removed when it is this old: another process may be about to commit to it."""
GRACE = 5.0
"""A file that nobody names any more is removed after this long: a reader may have just looked it up."""
ABANDONED = 24 * 3600.0
"""So long a batch of Spark may take: what its tasks have written is removed after that, if the query did not do it."""


class Keeper:
    name = "keeper"
    poll = 0.05

    def __init__(
        self, store: Store, vertices: list[str], tidy_every: float = 1.0, orphan_age: float = ORPHAN_AGE
    ) -> None:
        self._store = store
        self._vertices = vertices
        self._tidy_every = tidy_every
        self._orphan_age = orphan_age
        self.sync_seconds: float | None = None
        """How long the last sync took."""
        self._tidied = time.monotonic()
        self._swept = 0.0
        self._saved: dict[str, float] = {}
        """When the last checkpoint of each vertex was begun."""
        self._busy: dict[str, int] = {}
        """The epochs of the vertices at the last look."""
        self._unnamed: dict[tuple[str, int], float] = {}
        """Files that nobody named when last looked, as they were changed last, and since when."""

    def request_stop(self) -> None:
        pass

    def turn(self) -> bool:
        worked = self.sync()
        if time.monotonic() - self._tidied >= self._tidy_every:
            self.tidy()
            self._tidied = time.monotonic()
        return worked

    def close(self) -> None:
        self.sync(checkpoint=True)

    def sync(self, checkpoint: bool = False) -> bool:
        """What is committed now survives a power cut: the output at once, the state when its checkpoint is due."""
        catalog = self._store.catalog
        ours = [v for v in catalog.epochs.vertices() if v.name in self._vertices and v.durable < v.epoch]
        behind = [v for v in ours if v.stored < v.epoch]
        parts = catalog.snapshots.part_epochs() if ours else {}
        saving = [v for v in ours if v.lost is None and (checkpoint or self._is_due(v, parts.get(v.name, set())))]
        if not behind and not saving:
            return False
        began = time.perf_counter()
        ends: dict[str, dict[str, int]] = {}
        paths: set[str] = set()
        for vertex in behind:
            stored, now = (catalog.epochs.snapshot(vertex.name, epoch) for epoch in (vertex.stored, vertex.epoch))
            ends[vertex.name] = {vertex.name: now.output_end, dead_stream(vertex.name): now.dead_end}
            paths |= catalog.streams.paths_of(vertex.name, stored.output_end)
            paths |= catalog.streams.paths_of(dead_stream(vertex.name), stored.dead_end)
        bases: dict[str, Snapshot | None] = {}
        for vertex in saving:
            self._saved[vertex.name] = time.monotonic()
            if vertex.strategy.kind == REPLAY:
                base = replay_base(catalog, vertex, vertex.epoch)
                if base is not None:
                    bases[vertex.name] = base
            else:
                bases[vertex.name] = None
                paths |= catalog.epochs.run_paths(vertex.name, -1 if vertex.base else vertex.durable, vertex.epoch)
        if not behind and not bases:
            return False
        self._store.sync(paths)
        crashpoints.reach("sync.before_mark")

        def mark() -> None:
            # What was rolled back since has other files by now.
            still = {v.name for v in ours if catalog.epochs.standing(v.name).generation == v.generation}
            for vertex in behind:
                if vertex.name in still:
                    catalog.epochs.set_stored(vertex.name, vertex.epoch)
                    for stream, end in ends[vertex.name].items():
                        catalog.streams.set_durable(stream, end)
            for vertex in saving:
                if vertex.name in bases and vertex.name in still:
                    catalog.epochs.set_durable(vertex.name, vertex.epoch, bases[vertex.name])

        catalog.transact(mark, self._store.lease, durable=True)
        self.sync_seconds = time.perf_counter() - began
        crashpoints.reach("sync.after_mark")
        self._store.bell.ring()
        return True

    def _is_due(self, vertex: Vertex, parts: set[int]) -> bool:
        if any(vertex.durable < epoch for epoch in parts):
            return True  # a global snapshot waits for it
        if vertex.strategy.epochs is not None:
            return vertex.epoch - vertex.durable >= vertex.strategy.epochs
        return time.monotonic() - self._saved.get(vertex.name, 0.0) >= vertex.strategy.every / 1e6

    def tidy(self) -> None:
        """Forget, compact, trim, sweep."""
        catalog = self._store.catalog
        delivered, held = catalog.sinks.delivered(), catalog.snapshots.held()
        vertices = catalog.epochs.vertices()
        before, self._busy = self._busy, {vertex.name: vertex.epoch for vertex in vertices}
        others = self._busy.keys() - set(self._vertices)  # of other apps, which merge theirs
        # A long epoch is not idleness.
        idle = before == self._busy and not any(map(catalog.epochs.unfinished, self._vertices))
        for vertex in vertices:
            if vertex.name in self._vertices:
                needed = [each.get(vertex.name, vertex.durable) for each in ({}, delivered, held)]
                keep = min(*needed, catalog.epochs.history_floor(vertex))
                catalog.transact(partial(catalog.epochs.forget, vertex.name, keep), self._store.lease)
        for name in catalog.streams.names():
            row = catalog.streams.get(name)
            floor = low_water(catalog, row)
            catalog.transact(partial(catalog.streams.drop_time_marks, name, floor), self._store.lease)
            self._trim(row)
            for _ in range(MOST_GROUPS if name not in others else 0):
                if not self._compact(name, floor, idle):
                    break
        if time.monotonic() - self._swept >= 2 * self._tidy_every:
            self.sweep()
            self._swept = time.monotonic()

    def _compact(self, name: str, floor: int, idle: bool) -> bool:
        row = self._store.catalog.streams.get(name)
        group = pick_group(self._store.catalog.streams.segments(name, row.first, floor), floor, idle)
        if not group:
            return False
        frame = StreamReader(self._store.catalog, row.name).read(group[0].first, group[-1].end)
        path = f"streams/{row.name}/{uuid.uuid4().hex}.parquet"
        blob = write_parquet(self._store.root, path, frame)
        crashpoints.reach("compact.after_file")
        first, cti, level = group[0].first, group[-1].cti, group[0].level + 1
        merged = Segment(first, frame.height, cti, blob, *bounds(frame, VS), level=level)
        catalog = self._store.catalog
        swap = partial(catalog.streams.replace, row.name, group, merged)
        swapped = catalog.transact(swap, self._store.lease, durable=True)
        crashpoints.reach("compact.after_swap")
        return swapped

    def _trim(self, row: StreamRow) -> None:
        catalog = self._store.catalog

        def trim() -> None:
            # Looked up again: somebody may have pinned it in between.
            catalog.streams.trim(row.name, collectable(catalog, catalog.streams.get(row.name)).end)

        if collectable(catalog, row).end > row.first:
            catalog.transact(trim, self._store.lease)
            crashpoints.reach("trim.after_catalog")

    def sweep(self) -> None:
        """Removes files that nothing names: of lost attempts, merged runs, compacted and trimmed segments."""
        catalog = self._store.catalog
        vertices = catalog.epochs.vertices()
        committed = {v.name: v.epoch for v in vertices}
        # What rebuilds lost state, maybe in another driver, names its files only when all of it is there.
        rebuilt = {self._store.root / "state" / v.name for v in vertices if v.lost}
        others = committed.keys() - set(self._vertices)  # of other apps, who may be writing there
        found = [path for folder in ("streams", "state") for path in (self._store.root / folder).glob("*/*")]
        on_disk = [path for path in found if path.parent.name not in others and path.parent not in rebuilt]
        # Named after the listing: a file that is committed in between is named by then.
        # In a transaction: no other driver is in the middle of a commit, between its look at the clock and the end.
        named, drivers = catalog.transact(
            lambda: ({*catalog.streams.paths(), *catalog.epochs.paths()}, catalog.leases.drivers())
        )
        named |= self._store.open_paths()
        now, before, self._unnamed = time.monotonic(), self._unnamed, {}
        orphans: list[Path] = []
        for path in on_disk:
            relative = str(path.relative_to(self._store.root))
            if relative in named:
                continue
            try:
                key = relative, path.stat().st_mtime_ns
            except FileNotFoundError:
                continue
            # While the catalog cannot be reached nobody can name a file: that time does not count.
            since = max(before.get(key, now), catalog.reachable_since)
            # What another driver appends to is told by our own clock: that of the files may be set.
            shared = len(drivers) > 1 and path.suffix == ".arrows"
            grace = self._orphan_age if shared else min(GRACE, self._orphan_age)
            if now - since >= grace and self._is_orphan(path, committed):
                orphans.append(path)
            else:
                self._unnamed[key] = since
        if orphans:
            catalog.transact(partial(self._remove, orphans), self._store.lease)
        for path in (self._store.root / INCOMING).glob("*"):
            with suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime >= ABANDONED:
                    path.unlink()

    def _remove(self, orphans: list[Path]) -> None:
        """Inside a transaction: who names a file later finds it gone and writes it again, as ``StreamLog`` does."""
        named = {*self._store.catalog.streams.paths(), *self._store.catalog.epochs.paths()}
        for path in orphans:
            if str(path.relative_to(self._store.root)) not in named:
                path.unlink(missing_ok=True)

    def _is_orphan(self, path: Path, committed: dict[str, int]) -> bool:
        if path.name.startswith("e") and "-" in path.name:
            # Written by a task: it can only be named by the commit of its epoch.
            return int(path.name[1:].split("-")[0]) <= committed.get(path.parent.name, -1)
        if path.suffix == ".parquet":
            return True
        try:
            return time.time() - path.stat().st_mtime >= self._orphan_age
        except FileNotFoundError:
            return False


def pick_group(segments: list[Segment], floor: int, idle: bool) -> list[Segment]:
    """The first group of neighbours of one level that is worth merging; of large ones only when there is time."""
    large = [s for s in segments if s.external is None and s.blob is not None and s.blob.length >= LARGE]
    waiting = not idle and sum(s.blob.length for s in large if s.blob) <= MOST_LARGE
    group: list[Segment] = []
    for segment in segments:
        full = segment.blob is None or segment.blob.length >= FULL
        fixed = segment.end > floor or segment.external is not None or (segment.level > 0 and full)
        if fixed or (waiting and segment in large):
            group = []
            continue
        if group and group[0].level != segment.level:
            group = []
        group.append(segment)
        if len(group) >= GROUP or sum(s.blob.length for s in group if s.blob) >= FULL:
            return group
    return []
