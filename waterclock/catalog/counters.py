"""Exact counts since something was created, in the row of what they count; one JSON object of small numbers."""

from __future__ import annotations

import json

from waterclock.catalog.database import Database


def add(db: Database, table: str, name: str, numbers: dict[str, int]) -> None:

    def change() -> None:
        total = _get(db, table, name)
        for key, number in numbers.items():
            total[key] = total.get(key, 0) + number
        _put(db, table, name, total)

    if any(numbers.values()):
        db.transact(change)


def failed(db: Database, table: str, name: str, epoch: int) -> None:
    """Counts a failure, and how many there were in a row at the same epoch."""

    def change() -> None:
        total = _get(db, table, name)
        total["failures"] = total.get("failures", 0) + 1
        total["in_a_row"] = total.get("in_a_row", 0) + 1 if total.get("failed_epoch") == epoch else 1
        total["failed_epoch"] = epoch
        _put(db, table, name, total)

    db.transact(change)


def _get(db: Database, table: str, name: str) -> dict[str, int]:
    found: dict[str, int] = json.loads(db.query(f"SELECT counters FROM {table} WHERE name = ?", name)[0][0])
    return found


def _put(db: Database, table: str, name: str, numbers: dict[str, int]) -> None:
    db.execute(f"UPDATE {table} SET counters = ? WHERE name = ?", json.dumps(numbers), name)
