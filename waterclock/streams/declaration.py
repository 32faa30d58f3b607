"""What a user declares of a stream: columns, lifetime, how time advances and what happens to bad and late rows."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from waterclock.errors import ConfigError
from waterclock.schema import Schema
from waterclock.time import BEGINNING, DAY, HOUR, show_duration

LATE = ("fail", "drop", "adjust", "divert")
ON_BAD = ("fail", "skip", "divert")
AHEAD = ("fail", "quarantine")
BAD_ROWS = Schema.of({"where": "string", "reason": "string", "row": "string"})


@dataclass(frozen=True)
class Declaration:
    name: str
    schema: Schema
    time: str | None
    """The column with the start; None for streams that the system writes."""
    end: str | None = None
    """The column with the end; null there means open."""
    duration: int = 1
    """Used without ``end``: 1 makes points."""
    slack: int | None = 0
    """The CTI stays this far behind the greatest start seen; None: events do not move time."""
    idle: int | None = None
    """After this long without input, time goes on by the wall clock."""
    late: str = "fail"
    on_bad: str = "fail"
    max_ahead: int | None = HOUR
    """A row further ahead of the clock than this is not believed."""
    retention: int | None = None
    """How long events are kept behind the CTI; None keeps them all."""
    static: bool = False
    """A table: its rows are valid for ever."""
    max_jump: int | None = None
    """A row that would move time by more than this is not believed."""
    ahead: str = "fail"
    """What happens to rows that are not believed."""
    cti: str | None = None
    """The column with CTIs: they, not the starts, move time."""
    time_from: str | None = None
    """The stream whose CTIs this one takes over, ``slack`` behind."""
    made: tuple[str, ...] = ()
    """Of the output of a query, what its plan says of the events: points, open, endless, cyclic."""

    def __post_init__(self) -> None:
        for option, choices in (("late", LATE), ("on_bad", ON_BAD), ("ahead", AHEAD)):
            value = getattr(self, option)
            if value not in choices:
                fix = f"Choose one of: {', '.join(choices)}."
                raise ConfigError("CONFIG.BAD_OPTION", option=option, value=value, fix=fix)
        if self.cti is not None and (self.slack or self.time_from):
            option = "slack" if self.slack else "time_from"
            fix = "With a column of CTIs, they alone move time."
            raise ConfigError("CONFIG.BAD_OPTION", option=option, value=getattr(self, option), fix=fix)
        if self.time_from == self.name:
            fix = "Name another stream, or an output."
            raise ConfigError("CONFIG.BAD_OPTION", option="time_from", value=self.time_from, fix=fix)
        for option, low in (
            ("slack", 0),
            ("duration", 1),
            ("idle", 1),
            ("max_ahead", 0),
            ("max_jump", 1),
            ("retention", 0),
        ):
            value = getattr(self, option)
            if value is not None and value < low:
                raise ConfigError(
                    "CONFIG.BAD_OPTION",
                    option=option,
                    value=show_duration(value),
                    fix=f"It must be at least {show_duration(low)}.",
                )
        for option in ("time", "end", "cti"):
            column = getattr(self, option)
            if column is not None:
                kind = self.schema.type_of(column, f"the stream {self.name!r}")
                if kind not in ("timestamp", "date", "bigint", "int"):
                    raise ConfigError(
                        "CONFIG.BAD_OPTION", option=option, value=column,
                        fix=f"It is {kind}; a time is a timestamp, a date, or a bigint of microseconds.",
                    )  # fmt: skip

    @property
    def waits(self) -> int | None:
        """How long the stream waits for late events; None where something else moves its time."""
        return None if self.cti is not None or self.time_from is not None else self.slack

    def reached(self, greatest: int) -> int:
        """The CTI that an event which starts at ``greatest`` moves the stream to."""
        if self.slack is None or self.cti is not None or self.time_from is not None:
            return BEGINNING
        return greatest - self.slack

    @property
    def points(self) -> bool:
        return self.end is None and self.duration == 1 and not self.static

    @property
    def late_stream(self) -> str:
        return f"{self.name}.late"

    @property
    def bad_stream(self) -> str:
        return f"{self.name}.bad"

    @property
    def quarantine_stream(self) -> str:
        return f"{self.name}.quarantine"

    def side_streams(self) -> dict[str, Schema]:
        """Where the policies put rows that are not taken, and their columns."""
        every = (
            (self.on_bad == "divert", self.bad_stream, BAD_ROWS),
            (self.late == "divert", self.late_stream, self.schema),
            (self.ahead == "quarantine", self.quarantine_stream, self.schema),
        )
        return {name: schema for wanted, name, schema in every if wanted}

    def ticks(self, column: str) -> int:
        """How many microseconds one unit of a time column's physical value is."""
        return DAY if self.schema.type_of(column) == "date" else 1

    def difference(self, new: Declaration) -> str | None:
        """In words, what of ``new`` does not fit events that were written under this one."""
        for field in ("schema", "time", "end", "duration"):
            before, now = getattr(self, field), getattr(new, field)
            if before != now:
                return f"{field} was {_plain(before)}, now {_plain(now)}"
        return None

    def to_json(self) -> str:
        fields = asdict(self)
        fields["schema"] = list(self.schema.columns)
        return json.dumps(fields, sort_keys=True)

    @staticmethod
    def from_json(text: str) -> Declaration:
        fields = json.loads(text)
        fields["schema"] = Schema(tuple((name, kind) for name, kind in fields["schema"]))
        fields["made"] = tuple(fields.get("made", ()))
        return Declaration(**fields)


def _plain(value: object) -> object:
    return [list(column) for column in value.columns] if isinstance(value, Schema) else value
