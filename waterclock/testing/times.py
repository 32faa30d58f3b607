"""Times as tests write them: ``10:00`` is a time of the test's day, in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from waterclock.errors import ConfigError
from waterclock.time import DAY, FOREVER, instant

TODAY = "2026-01-05"
"""The day of a test that names none; a Monday."""
OPEN = ("open", "∞", "inf", "")
_SHORT = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(\.\d{1,6})?)?")
_FULL = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?")


class Times:
    def __init__(self, day: str = TODAY) -> None:
        if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", day):
            raise ConfigError("CONFIG.BAD_OPTION", option="day", value=day, fix="Write it as 2026-01-05.")
        self.day = day
        self._midnight = instant(day)

    def read(self, text: str) -> int:
        """``10:00``, ``10:00:05.25``, ISO 8601, or microseconds since 1970."""
        short = _SHORT.fullmatch(text)
        if short is not None:
            hours, minutes, seconds = (int(short.group(part) or 0) for part in (1, 2, 3))
            if hours < 24 and minutes < 60 and seconds < 60:
                fraction = round(float(short.group(4) or 0) * 1e6)
                return self._midnight + ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + fraction
        elif _FULL.fullmatch(text):
            return instant(text)
        elif re.fullmatch(r"-?\d+", text):
            return int(text)
        raise ConfigError("TEST.BAD_TIME", text=repr(text))

    def show(self, time: int) -> str:
        """As short as ``read`` takes it back."""
        if time == FOREVER:
            return "∞"
        try:
            stamp = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time)
        except OverflowError:
            return str(time)
        text = stamp.strftime("%H:%M:%S.%f").rstrip("0").rstrip(".")
        text = text.removesuffix(":00") if text.count(":") == 2 else text
        same_day = 0 <= time - self._midnight < DAY
        return text if same_day else f"{stamp.date().isoformat()}T{text}"
