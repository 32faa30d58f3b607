"""What a user declares of a stream: columns, lifetime, how time advances and what happens to bad and late rows."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from waterclock.errors import ConfigError
from waterclock.schema import Schema
from waterclock.time import DAY, HOUR, show_duration

LATE = ("fail", "drop", "adjust", "divert")
ON_BAD = ("fail", "skip", "divert")


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
    slack: int = 0
    """The CTI stays this far behind the greatest start seen."""
    idle: int | None = None
    """After this long without input, time goes on by the wall clock."""
    late: str = "fail"
    on_bad: str = "fail"
    max_ahead: int | None = HOUR
    retention: int | None = None
    """How long events are kept behind the CTI; None keeps them all."""

    def __post_init__(self) -> None:
        if self.late not in LATE:
            raise ConfigError(
                "CONFIG.BAD_OPTION", option="late", value=self.late, fix=f"Choose one of: {', '.join(LATE)}."
            )
        if self.on_bad not in ON_BAD:
            raise ConfigError(
                "CONFIG.BAD_OPTION",
                option="on_bad",
                value=self.on_bad,
                fix=f"Choose one of: {', '.join(ON_BAD)}.",
            )
        for option, low in (("slack", 0), ("duration", 1), ("idle", 1), ("max_ahead", 0), ("retention", 0)):
            value = getattr(self, option)
            if value is not None and value < low:
                raise ConfigError(
                    "CONFIG.BAD_OPTION",
                    option=option,
                    value=show_duration(value),
                    fix=f"It must be at least {show_duration(low)}.",
                )
        for option in ("time", "end"):
            column = getattr(self, option)
            if column is not None:
                kind = self.schema.type_of(column, f"the stream {self.name!r}")
                if kind not in ("timestamp", "date", "bigint", "int"):
                    raise ConfigError(
                        "CONFIG.BAD_OPTION", option=option, value=column,
                        fix=f"It is {kind}; a time is a timestamp, a date, or a bigint of microseconds.",
                    )  # fmt: skip

    @property
    def points(self) -> bool:
        return self.end is None and self.duration == 1

    @property
    def late_stream(self) -> str:
        return f"{self.name}.late"

    @property
    def bad_stream(self) -> str:
        return f"{self.name}.bad"

    def ticks(self, column: str) -> int:
        """How many microseconds one unit of a time column's physical value is."""
        return DAY if self.schema.type_of(column) == "date" else 1

    def to_json(self) -> str:
        fields = asdict(self)
        fields["schema"] = list(self.schema.columns)
        return json.dumps(fields, sort_keys=True)

    @staticmethod
    def from_json(text: str) -> Declaration:
        fields = json.loads(text)
        fields["schema"] = Schema(tuple((name, kind) for name, kind in fields["schema"]))
        return Declaration(**fields)
