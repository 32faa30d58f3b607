"""When events came, where segments no longer tell: those of many commits that were merged, or written again.

A mark says that a stream had so many events from ``at`` on, before ``until``. One is kept for every whole second, so
that is what can always be asked; between whole seconds only what was not merged yet is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from waterclock.catalog.database import Database
from waterclock.streams import Segment
from waterclock.time import BEGINNING, FOREVER, SECOND


class Mark(NamedTuple):
    """So many events, and the stream's time then."""

    seq: int
    cti: int


class Arrivals:
    def __init__(self, db: Database) -> None:
        self._db = db

    def keep(self, stream: str, old: Sequence[Segment]) -> None:
        """Segments are about to go, one after another in the stream, whose events stay or will be there again."""
        came = [segment.arrived for segment in old]
        if not old or old[0].level > 0 or None in came:  # merged before, when their marks were kept
            return
        self._begin(stream, old[0])
        for segment in old[1:]:
            self._close(stream, segment)
        for segment, following in zip(old, [*came[1:], None], strict=True):
            assert segment.arrived is not None
            self._put(stream, Mark(segment.end, segment.cti), segment.arrived, following)

    def trim(self, stream: str, seq: int) -> None:
        self._db.execute("DELETE FROM arrivals WHERE stream = ? AND seq < ?", stream, seq)

    def at(self, stream: str, time: int) -> Mark | None:
        """What the stream had at a time, if that is known."""
        for seq, cti, until in self._db.query(
            "SELECT seq, cti, until FROM arrivals WHERE stream = ? AND at <= ? AND (until > ? OR until IS NULL)",
            stream, time, time,
        ):  # fmt: skip
            following = until or self._came_at(stream, seq)
            if following is None or following > time:
                return Mark(seq, max(cti, self._cti(stream, seq, time)))
        return self._of_segments(stream, time)

    def earliest(self, stream: str | None = None) -> int | None:
        """When the first events came of which that is still known; of all streams, or of one."""
        of = "" if stream is None else "AND stream = ?"
        values = () if stream is None else (stream, stream)
        rows = self._db.query(
            f"""SELECT min(at) FROM (SELECT min(arrived) AS at FROM segments WHERE rows > 0 {of} UNION ALL
                SELECT min(CASE WHEN at = 0 THEN until ELSE at END) FROM arrivals WHERE seq >= 0 {of}) AS every""",
            *values,
        )
        return None if rows[0][0] is None else int(rows[0][0])

    def _begin(self, stream: str, first: Segment) -> None:
        """The mark before the first of some segments ends where that came."""
        if self._close(stream, first):
            return
        if first.first == 0:
            before = BEGINNING, 0
        else:
            rows = self._db.query(
                """SELECT cti, arrived FROM segments
                   WHERE stream = ? AND rows > 0 AND first + rows = ? AND level = 0 AND arrived IS NOT NULL""",
                stream, first.first,
            )  # fmt: skip
            if not rows:
                return
            before = rows[0]
        self._put(stream, Mark(first.first, before[0]), before[1], first.arrived)

    def _close(self, stream: str, following: Segment) -> bool:
        """If there is a mark without an end before this segment, which was written again, it ends where that came."""
        found = self._db.query(
            "SELECT cti, at FROM arrivals WHERE stream = ? AND seq = ? AND until IS NULL", stream, following.first
        )
        if not found:
            return False
        self._db.execute("DELETE FROM arrivals WHERE stream = ? AND seq = ?", stream, following.first)
        self._put(stream, Mark(following.first, found[0][0]), found[0][1], following.arrived)
        return True

    def _put(self, stream: str, mark: Mark, at: int, until: int | None) -> None:
        if until is not None and -(-at // SECOND) * SECOND >= until:
            return  # no whole second is in it
        if self._had_more(stream, mark.seq, FOREVER if until is None else until):
            return
        self._db.execute(
            "INSERT INTO arrivals VALUES (?, ?, ?, ?, ?) ON CONFLICT (stream, seq) DO NOTHING",
            stream, mark.seq, mark.cti, at, until,
        )  # fmt: skip

    def _came_at(self, stream: str, seq: int) -> int | None:
        rows = self._db.query(
            "SELECT min(arrived) FROM segments WHERE stream = ? AND rows > 0 AND first = ?", stream, seq
        )
        return None if rows[0][0] is None else int(rows[0][0])

    def _of_segments(self, stream: str, time: int) -> Mark | None:
        """By the segments alone: where one that came by then is followed by one that came later, or by none."""
        (first, following, last) = self._db.query(
            "SELECT first_seq, next_seq, arrived FROM streams WHERE name = ?", stream
        )[0]
        rows = self._db.query(
            "SELECT first + rows, level, arrived FROM segments WHERE stream = ? AND rows > 0 ORDER BY first", stream
        )
        came = [(0, 0, 0), *rows] if first == 0 else rows or [(following, 0, last)]
        behind = [*((level, at) for _, level, at in came[1:]), (0, FOREVER)]
        for (end, _, at), (level, until) in zip(came, behind, strict=True):
            # Of merged ones it is known when the last came, not when the first did.
            if at is not None and until is not None and at <= time < until and level == 0:
                return None if self._had_more(stream, end, until) else Mark(end, self._cti(stream, end, time))
        return None

    def _had_more(self, stream: str, seq: int, until: int) -> bool:
        """More had come by then, before it was written again."""
        later = "SELECT 1 FROM arrivals WHERE stream = ? AND seq > ? AND at < ?"
        return bool(self._db.query(later, stream, seq, until))

    def _cti(self, stream: str, seq: int, time: int) -> int:
        """The stream's last time before its end, as far as it is known to have come by then."""
        rows = self._db.query(
            "SELECT max(cti) FROM segments WHERE stream = ? AND first + rows <= ? AND arrived <= ? AND cti < ?",
            stream, seq, time, FOREVER,
        )  # fmt: skip
        return BEGINNING if rows[0][0] is None else int(rows[0][0])
