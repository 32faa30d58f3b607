"""Casts by the rules of Spark's ``try_cast``: null where a value does not fit."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from waterclock.reference.values import EPOCH, MICROSECOND, WIDTH, converted, single
from waterclock.schema import element_type, struct_fields

BLANK = "".join(map(chr, [*range(33), 127]))


def cast(value: Any, kind: str, to: str) -> Any:
    """A value of type ``kind`` as type ``to``."""
    if value is None or kind == to:
        return value
    if (element := element_type(to)) is not None:
        return [cast(part, str(element_type(kind)), element) for part in value]
    if (fields := struct_fields(to)) is not None:
        parts = zip(value.values(), struct_fields(kind) or (), fields, strict=True)
        return {name: cast(part, old, new) for part, (_, old), (name, new) in parts}
    if to == "string":
        return text(value, kind)
    if isinstance(value, str) and to != "binary":
        return _read(value.strip(BLANK), to)
    if to == "boolean":
        return value != 0
    if to in WIDTH:
        return _integer(value, 1 << (WIDTH[to] - 1))
    if isinstance(value, datetime) and to in ("float", "double"):
        seconds = (value - EPOCH) / timedelta(seconds=1)
        return single(seconds) if to == "float" else seconds
    if to == "timestamp" and isinstance(value, int | float):
        return _moment(value)
    return converted(value, to)


def _integer(value: Any, half: int) -> int | None:
    if isinstance(value, datetime):
        value = (value - EPOCH) // timedelta(seconds=1)
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        value = math.trunc(value)
        if value == half == 2**63:
            return half - 1  # the greatest bigint as a double
    return int(value) if -half <= value < half else None


def _moment(seconds: float) -> datetime | None:
    if isinstance(seconds, float) and not abs(seconds) * 1e6 <= 2.0**63:
        return None
    return EPOCH + MICROSECOND * math.trunc(seconds * 1_000_000)


def text(value: Any, kind: str) -> str | None:
    """As Spark shows it."""
    if kind == "boolean":
        return "true" if value else "false"
    if kind in ("float", "double"):
        return _double_text(value, kind)
    if kind == "timestamp":
        return str(value.strftime("%Y-%m-%d %H:%M:%S.%f").zfill(26).rstrip("0").rstrip("."))
    if kind == "date":
        return str(value.isoformat())
    if kind == "binary":
        try:
            return str(value.decode())
        except UnicodeDecodeError:
            return None
    return str(value)


def _double_text(value: float, kind: str) -> str:
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    digits = _fewest(value) if kind == "float" else repr(value)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return f"{Decimal(digits):f}" + ("" if "." in f"{Decimal(digits):f}" else ".0")
    sign, figures, exponent = Decimal(digits).as_tuple()
    plain = "".join(map(str, figures)).rstrip("0") or "0"
    power = len(figures) - 1 + int(exponent)
    return f"{'-' if sign else ''}{plain[0]}.{plain[1:] or '0'}E{power}"


def _fewest(value: float) -> str:
    return next(shown for digits in range(1, 18) if single(float(shown := f"{value:.{digits}g}")) == value)


def _read(given: str, to: str) -> Any:
    if to == "boolean":
        words = {"t": True, "true": True, "y": True, "yes": True, "1": True}
        words |= {"f": False, "false": False, "n": False, "no": False, "0": False}
        return words.get(given.lower())
    if to in WIDTH:
        half = 1 << (WIDTH[to] - 1)
        number = int(given) if re.fullmatch(r"[+-]?[0-9]+", given) else half
        return number if -half <= number < half else None
    if to in ("float", "double"):
        if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?", given):
            number_ = float(given.rstrip("dDfF"))
            return single(number_) if to == "float" else number_
        special = re.fullmatch(r"(?i)([+-]?)inf(?:inity)?|nan", given)
        return None if not special else float(given.lower())
    return _read_date(given) if to == "date" else _read_timestamp(given)


_DAY = r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2})"


def _read_date(given: str) -> date | None:
    found = re.fullmatch(_DAY + r"(?:[ T].*)?)?)?", given, re.DOTALL)
    try:
        return date(*(int(part or 1) for part in found.groups())) if found else None
    except ValueError:
        return None


def _read_timestamp(given: str) -> datetime | None:
    time = r"([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?)?)?"
    zone = r" ?(?:Z|UTC|GMT|UT)?(?:([+-])([0-9]{1,2})(?::?([0-9]{1,2}))?)?"
    found = re.fullmatch(_DAY + rf"(?:[ T]{time}(?:{zone})?)?)?)?", given)
    if not found:
        return None
    year, month, day, hour, minute, second, fraction, sign, zone_hour, zone_minute = found.groups()
    micros = int((fraction or "")[:6].ljust(6, "0"))
    offset = timedelta(hours=int(zone_hour or 0), minutes=int(zone_minute or 0)) * (-1 if sign == "-" else 1)
    if abs(offset) > timedelta(hours=18):
        return None
    try:
        parts = [int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0), micros]
        return datetime(*parts, tzinfo=timezone(offset)).astimezone(UTC)  # type: ignore[arg-type, misc]
    except (ValueError, OverflowError):
        return None
