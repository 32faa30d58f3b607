"""Tables: rows that are valid for ever, written once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import waterclock as wc
from waterclock import launch
from waterclock.catalog import Catalog
from waterclock.runtime.log import StreamLog, StreamReader
from waterclock.runtime.store import Store
from waterclock.schema import VE, VS
from waterclock.time import FOREVER

MakeApp = Callable[..., wc.App]
SCHEMA = {"shop": str, "town": str, "size": int}
ROWS: list[dict[str, Any]] = [
    {"shop": "x", "town": "Ulm", "size": 3},
    {"shop": "y", "town": None, "size": 4},
    {"shop": "x", "town": "Ulm", "size": 3},
]
EVER = -(2**61) + 1


def declare(app: wc.App, rows: Any = ROWS, schema: dict[str, object] | None = None) -> None:
    app.table("shops", schema or SCHEMA, rows).filter(wc.col("size") > 0).into("large")


def read(store: Path, stream: str) -> pl.DataFrame:
    catalog = Catalog.open(store)
    row = catalog.streams.get(stream)
    frame = StreamReader(catalog, stream).read(row.first, row.next)
    catalog.close()
    return frame


def as_file(rows: list[dict[str, Any]], path: Path) -> Path:
    frame = pl.DataFrame(rows)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".csv":
        frame.write_csv(path)
    elif path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_ipc(path)
    return path


@pytest.mark.parametrize("form", ["dicts", "columns", "polars", "jsonl", "csv", "parquet", "arrow"])
def test_a_table_is_valid_for_ever_and_complete(make_app: MakeApp, tmp_path: Path, form: str) -> None:
    rows: Any = ROWS
    if form == "columns":
        rows = {name: [row[name] for row in ROWS] for name in SCHEMA}
    elif form == "polars":
        rows = pl.DataFrame(ROWS)
    elif form != "dicts":
        rows = as_file(ROWS, tmp_path / f"shops.{form}")
    app = make_app()
    declare(app, rows)
    app.run(mode="offline")
    for stream in ("shops", "large"):
        found = read(tmp_path / "store", stream)
        assert found.select(VS, VE).unique().rows() == [(EVER, FOREVER)]
        assert found.drop(VS, VE).sort("shop").to_dicts() == sorted(ROWS, key=lambda row: row["shop"])
    catalog = Catalog.open(tmp_path / "store")
    assert catalog.streams.get("shops").ended
    assert catalog.streams.get("large").ended
    assert catalog.streams.get("shops").counters == {"rows": 3}
    catalog.close()


def test_the_same_rows_again_in_any_order_change_nothing(make_app: MakeApp, tmp_path: Path) -> None:
    for rows in (ROWS, ROWS[::-1], as_file(ROWS, tmp_path / "shops.csv")):
        app = make_app()
        declare(app, rows)
        app.run(mode="offline")
    assert read(tmp_path / "store", "shops").height == 3
    assert read(tmp_path / "store", "large").height == 3


@pytest.mark.parametrize(
    "rows",
    [
        ROWS[:2],
        [*ROWS, ROWS[0]],
        [*ROWS[:2], {"shop": "x", "town": "Ulm", "size": 5}],
        [*ROWS[:2], {"shop": "x", "town": None, "size": 3}],
        [],
    ],
)
def test_other_rows_are_refused(make_app: MakeApp, tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    app = make_app()
    declare(app)
    app.run(mode="offline")
    changed = make_app()
    declare(changed, rows)
    with pytest.raises(wc.ConfigError, match=r"PLAN\.TABLE_CHANGED.*'shops'"):
        changed.run(mode="offline")
    assert read(tmp_path / "store", "shops").height == 3
    again = make_app()
    declare(again)
    again.run(mode="offline")  # the refused run left nothing locked


def test_another_schema_is_refused(make_app: MakeApp) -> None:
    app = make_app()
    declare(app)
    app.run(mode="offline")
    changed = make_app()
    declare(changed, [{"shop": "x", "size": 1}], {"shop": str, "size": int})
    with pytest.raises(wc.ConfigError, match=r"PLAN\.STREAM_CHANGED"):
        changed.run(mode="offline")


def test_an_empty_table(make_app: MakeApp, tmp_path: Path) -> None:
    for _ in range(2):
        app = make_app()
        declare(app, [])
        app.run(mode="offline")
    assert read(tmp_path / "store", "shops").height == 0
    catalog = Catalog.open(tmp_path / "store")
    assert catalog.streams.get("shops").ended
    catalog.close()


def test_two_apps_with_one_table(make_app: MakeApp, tmp_path: Path) -> None:
    for name in ("one", "two"):
        app = make_app(name)
        app.table("shops", SCHEMA, ROWS).into(f"out_{name}")
        app.run(mode="offline")
    assert read(tmp_path / "store", "shops").height == 3
    assert read(tmp_path / "store", "out_two").height == 3


def test_a_writer_that_comes_second_compares(make_app: MakeApp, tmp_path: Path) -> None:
    """Both saw the table empty; one number is given once."""
    app = make_app()
    declare(app)
    catalog = Catalog.open(tmp_path / "store", create=True)
    launch.declare(app._declared, catalog, app._declared.plans(catalog))
    store = Store(catalog, None)
    one, other, third = (StreamLog(store, "shops") for _ in range(3))
    rows = app._tables["shops"][1]
    one.fill(rows)
    other.fill(rows)
    with pytest.raises(wc.ConfigError, match=r"PLAN\.TABLE_CHANGED"):
        third.fill(rows.head(1))
    assert catalog.streams.get("shops").next == 3
    store.close()


def test_a_bad_row_of_a_table_is_named(make_app: MakeApp, tmp_path: Path) -> None:
    with pytest.raises(wc.DataError, match=r"DATA\.WRONG_TYPE.*row 1: column 'size'"):
        make_app().table("shops", SCHEMA, [ROWS[0], {"size": "x"}])
    (tmp_path / "shops.csv").write_text("shop,town,size\nx,Ulm,3\ny,Ulm,many\n")
    with pytest.raises(wc.DataError, match=r"DATA\.WRONG_TYPE.*shops\.csv line 3: column 'size'"):
        make_app().table("shops", SCHEMA, tmp_path / "shops.csv")
    with pytest.raises(wc.DataError, match=r"DATA\.UNREADABLE.*nowhere\.csv: No such file"):
        make_app().table("shops", SCHEMA, str(tmp_path / "nowhere.csv"))
    with pytest.raises(wc.DataError, match=r"DATA\.UNREADABLE.*format"):
        make_app().table("shops", SCHEMA, tmp_path / "shops.xls")


def test_the_plan_knows_a_table(make_app: MakeApp) -> None:
    plan = make_app().table("shops", SCHEMA, ROWS)._plan
    assert (plan.points, plan.open_ended, plan.endless) == (False, True, True)
    assert plan.label == "table shops (shop string, town string, size bigint)"


def test_a_table_takes_a_name(make_app: MakeApp) -> None:
    app = make_app()
    app.table("shops", SCHEMA, ROWS)
    with pytest.raises(wc.ConfigError, match=r"PLAN\.DUPLICATE_NAME"):
        app.stream("shops", {"ts": int}, time="ts")


def test_a_table_beside_a_stream_holds_nothing_back(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app()
    sales = app.stream("sales", {"shop": str, "ts": int}, time="ts", end=None)
    shops = app.table("shops", {"shop": str}, [{"shop": "x"}])
    sales.select("shop").union(shops).into("both")
    sales.push([{"shop": "y", "ts": 5}])
    sales.advance(9)
    app.run(mode="offline")
    catalog = Catalog.open(tmp_path / "store")
    assert catalog.streams.get("both").cti == 9
    catalog.close()
    assert read(tmp_path / "store", "both").sort("shop").rows() == [(EVER, FOREVER, "x"), (5, 6, "y")]
