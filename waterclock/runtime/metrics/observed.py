"""What only the process that runs an app can know, in a small file of the store that others may read.

It is replaced as a whole, so that a reader never sees half of it. It is not synced: nothing in it matters after a power
cut.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from waterclock.runtime.metrics.alerts import Alerts
from waterclock.runtime.metrics.figures import Alert, Spread, Stage, Straggler, StreamRecent, Task, VertexRecent

FOLDER = "metrics"


@dataclass(frozen=True)
class Observed:
    app: str
    state: str = "stopped"
    started: float | None = None
    ended: float | None = None
    sources: tuple[str, ...] = ()
    """The app's streams, read by a query or not."""
    sync_seconds: float | None = None
    streams: Mapping[str, StreamRecent] = field(default_factory=dict)
    vertices: Mapping[str, VertexRecent] = field(default_factory=dict)
    wanted: Alerts = field(default_factory=Alerts)
    alerts: tuple[Alert, ...] = ()


def save(root: Path, observed: Observed) -> None:
    path = _path(root, observed.app)
    path.parent.mkdir(exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(asdict(observed)), encoding="utf-8")
    os.replace(fresh, path)


def load(root: Path, app: str) -> Observed:
    try:
        text = _path(root, app).read_text(encoding="utf-8")
        return _observed(json.loads(text))
    except (FileNotFoundError, ValueError, TypeError, KeyError):  # none, or of another version
        return Observed(app)


def _path(root: Path, app: str) -> Path:
    return root / FOLDER / f"{app}.json"


def _observed(found: dict[str, Any]) -> Observed:
    return Observed(
        **found
        | {
            "sources": tuple(found["sources"]),
            "streams": {name: StreamRecent(**values) for name, values in found["streams"].items()},
            "vertices": {name: _vertex(values) for name, values in found["vertices"].items()},
            "wanted": Alerts(**found["wanted"]),
            "alerts": tuple(Alert(**values) for values in found["alerts"]),
        }
    )


def _vertex(found: dict[str, Any]) -> VertexRecent:
    spreads = {name: Spread(**found[name]) if found[name] else None for name in ("epoch_seconds", "latency")}
    return VertexRecent(**found | spreads | {"stages": tuple(_stage(values) for values in found["stages"])})


def _stage(found: dict[str, Any]) -> Stage:
    slowest = tuple(Task(**values) for values in found["slowest"])
    return Stage(
        **found | {"slowest": slowest, "stragglers": tuple(Straggler(**values) for values in found["stragglers"])}
    )
