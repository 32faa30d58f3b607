"""A cycle gives the same in every mode."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.recovery.test_cycle import build, check, fill

pytestmark = pytest.mark.spark


def test_a_cycle_in_every_mode(tmp_path: Path) -> None:
    found: dict[str, dict[str, pl.DataFrame]] = {}
    for mode in ("offline", "drain", "live", "batch"):
        store = tmp_path / mode
        app = build(store)
        fill(app)
        handle = app.run(mode=mode)
        assert handle.wait(120)
        found[mode] = {name: handle.frame(name) for name in ("reach", "counts")}
        if mode != "batch":
            check(store)
    for frames in found.values():
        for name, frame in frames.items():
            expected = found["offline"][name]
            assert frame.sort(frame.columns).equals(expected.sort(expected.columns))
