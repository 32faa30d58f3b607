"""Questions to a store: the answer of the same query in a program, at one cut, whatever happens meanwhile."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import waterclock as wc
from waterclock import launch
from waterclock.asking import here, ranges
from waterclock.asking import query as asking
from waterclock.catalog import Catalog
from waterclock.cli.main import main
from waterclock.errors import WaterclockError
from waterclock.expr.nodes import col, lit, start
from waterclock.plan import Filter, Input
from waterclock.runtime import keeper
from waterclock.runtime.inprocess import InProcessRunner
from waterclock.runtime.keeper import Keeper
from waterclock.runtime.store import Store
from waterclock.schema import Schema
from waterclock.streams import Declaration
from waterclock.time import BEGINNING, FOREVER

pytestmark = pytest.mark.usefixtures("each_database")
MakeApp = Callable[..., wc.App]
CLICKS = [{"user": f"u{n % 3}", "cost": n, "t": n * 10} for n in range(20)]


def declare(make_app: MakeApp, **options: object) -> tuple[wc.App, wc.SourceStream]:
    app = make_app(epoch_rows=7)
    clicks = app.stream("clicks", {"user": str, "cost": int, "t": "bigint"}, time="t", max_ahead=None, **options)  # type: ignore[arg-type]
    clicks.group_by("user").tumbling(100).agg(n=wc.count(), total=wc.sum("cost")).into("per_user")
    return app, clicks


@pytest.fixture
def store(make_app: MakeApp, tmp_path: Path) -> Path:
    app, clicks = declare(make_app)
    for row in CLICKS:
        clicks.push([row])
    app.run(mode="offline")
    return tmp_path / "store"


def ask(store: Path, text: str, **options: object) -> pl.DataFrame:
    return wc.query(store, text, **options)  # type: ignore[arg-type]


def test_rows_with_their_lifetimes(store: Path) -> None:
    found = ask(store, "SELECT user, cost FROM clicks WHERE cost >= 18")
    assert found.columns == ["valid_from", "valid_to", "user", "cost"]
    assert found["cost"].to_list() == [18, 19]
    assert found["valid_from"].dt.timestamp("us").to_list() == [180, 190]
    assert found["valid_to"].dt.timestamp("us").to_list() == [181, 191]


def test_groups_over_everything(store: Path) -> None:
    found = ask(store, "SELECT user, COUNT(*) AS n, SUM(cost) AS total FROM clicks GROUP BY user ORDER BY n DESC, user")
    assert found.rows() == [("u0", 7, 63), ("u1", 7, 70), ("u2", 6, 57)]
    assert ask(store, "SELECT COUNT(*) AS n, MAX(cost) AS most FROM clicks").rows() == [(20, 19)]
    assert ask(store, "SELECT COUNT(*) + 1 AS n, MAX(cost) AS most FROM clicks WHERE cost > 99").rows() == [(1, None)]
    assert ask(store, "SELECT user FROM clicks WHERE cost > 99 GROUP BY user").rows() == []
    having = "SELECT user FROM clicks GROUP BY user HAVING COUNT(*) > 6 ORDER BY SUM(cost) DESC"
    assert ask(store, having)["user"].to_list() == ["u1", "u0"]


def test_order_and_limit_are_of_the_answer(store: Path) -> None:
    assert ask(store, "SELECT cost FROM clicks ORDER BY cost DESC LIMIT 2")["cost"].to_list() == [19, 18]
    assert ask(store, "SELECT cost FROM clicks LIMIT 3").height == 3
    assert ask(store, "SELECT user FROM clicks ORDER BY cost * -1, 1 LIMIT 2").columns[2:] == ["user"]
    assert ask(store, "SELECT cost FROM clicks ORDER BY START() DESC LIMIT 1")["cost"].to_list() == [19]
    best = ask(store, "SELECT user, cost FROM clicks ORDER BY cost DESC LIMIT 1 BY user")
    assert best["cost"].to_list() == [19, 18, 17]
    assert ask(store, "SELECT DISTINCT user FROM clicks ORDER BY user").rows() == [("u0",), ("u1",), ("u2",)]
    assert ask(store, "SELECT cost FROM clicks ORDER BY cost", limit=2)["cost"].to_list() == [0, 1]


def test_windows_joins_and_subqueries_as_in_programs(store: Path, make_app: MakeApp) -> None:
    windows = "SELECT user, COUNT(*) AS n, SUM(cost) AS total FROM clicks GROUP BY user WITH TUMBLING(100us)"
    app, _ = declare(make_app)
    stored = ask(store, "SELECT * FROM per_user")
    app.source("clicks").end()
    app.run(mode="offline")
    whole = ask(store, "SELECT * FROM per_user")
    keys = ["valid_from", "user"]
    assert stored.height < whole.height  # an open window is not in the output yet, but it is in the answer
    assert ask(store, windows).sort(keys).equals(whole.sort(keys))
    joined = (
        f"each = {windows}; SELECT c.cost, p.n FROM clicks AS c JOIN each AS p ON c.user == p.user WHERE c.cost < 2"
    )
    assert ask(store, joined).height == 2
    nested = "SELECT MAX(n) AS most FROM (SELECT user, COUNT(*) AS n FROM clicks GROUP BY user) AS x"
    assert ask(store, nested).rows() == [(7,)]


def test_as_of(store: Path, make_app: MakeApp) -> None:
    catalog = Catalog.open(store)
    assert catalog.snapshots.begin("test", "before") is not None
    app, clicks = declare(make_app)
    app.run(mode="offline")
    clicks.push([{"user": "new", "cost": 1000, "t": 1000}])
    app.run(mode="offline")
    count = "SELECT COUNT(*) AS n FROM clicks"
    assert ask(store, count).item() == 21
    assert ask(store, count, as_of="snapshot before").item() == 20
    behind = "FOR SYSTEM_TIME AS OF SNAPSHOT 'before'"
    assert ask(store, f"{count} {behind}").item() == 20
    assert ask(store, f"SELECT a.n AS before, b.n AS now FROM ({count} {behind}) AS a CROSS JOIN ({count}) AS b")[
        "before", "now"
    ].rows() == [(20, 21)]
    epoch = catalog.snapshots.all()[-1].parts["per_user"].epoch
    assert ask(store, f"{count} FOR SYSTEM_TIME AS OF EPOCH {epoch} OF per_user").item() == 20
    first = catalog.streams.segments("clicks", 0, 99)[0].arrived
    assert first is not None
    assert ask(store, count, as_of=first).item() == 1
    then = f"{count} FOR SYSTEM_TIME AS OF :then"
    assert ask(store, then, params={"then": first}).item() == 1
    catalog.close()


def test_state_is_a_table(store: Path) -> None:
    found = ask(store, "SELECT * FROM state.per_user ORDER BY user")
    assert set(found["user"]) == {"u0", "u1", "u2"}
    assert set(found["table"]) == {"panes"}
    assert set(found["operator"].str.contains("tumbling")) == {True}
    assert found.columns[:5] == ["valid_from", "valid_to", "operator", "table", "user"]
    per_user = "SELECT user, SUM(agg0_n) AS n FROM state.per_user GROUP BY user ORDER BY user"
    assert ask(store, per_user).rows() == [("u0", 3), ("u1", 4), ("u2", 3)]
    assert ask(store, "SELECT SUM(agg0_n) AS n FROM state.per_user").item() == 10


def test_state_as_of_an_epoch(store: Path, make_app: MakeApp) -> None:
    catalog = Catalog.open(store)
    assert catalog.snapshots.begin("test", "before") is not None
    app, clicks = declare(make_app)
    app.run(mode="offline")
    before = ask(store, "SELECT user, agg0_n FROM state.per_user ORDER BY user")
    clicks.push([{"user": "u9", "cost": 1, "t": 500}])
    app.run(mode="offline")
    assert ask(store, "SELECT DISTINCT user FROM state.per_user").rows() == [("u9",)]
    asked = "SELECT user, agg0_n FROM state.per_user FOR SYSTEM_TIME AS OF SNAPSHOT 'before' ORDER BY user"
    assert ask(store, asked).equals(before)
    catalog.close()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT cost FROM click", r"SQL\.UNKNOWN_NAME.*click(.|\n)*\^~~~~(.|\n)*Did you mean clicks"),
        ("SELECT coast FROM clicks", r"SQL\.UNKNOWN_COLUMN(.|\n)*\^~~~~(.|\n)*Did you mean cost"),
        ("SELECT cost FROM clicks WHERE valid_from > NOW()", r"SQL\.UNKNOWN_COLUMN(.|\n)*Did you mean START\(\)"),
        ("SELECT cost FROM clicks ORDER BY valid_to", r"SQL\.UNKNOWN_COLUMN(.|\n)*Did you mean END\(\)"),
        ("SELECT cost FROM clicks WHERE", r"SQL\.SYNTAX"),
        ("OUTPUT clicks TO console()", r"QUERY\.NOT_A_QUERY.*OUTPUT"),
        ("a = SELECT cost FROM clicks", r"QUERY\.NOT_A_QUERY.*with a name"),
        ("", r"QUERY\.NOT_A_QUERY.*empty"),
        ("SELECT cost FROM clicks FOR SYSTEM_TIME AS OF EPOCH 'x' OF per_user", r"SQL\.BAD_VALUE"),
        ("SELECT cost FROM clicks FOR SYSTEM_TIME AS OF TIMESTAMP '2999-01-01'", r"ASOF\.FUTURE"),
        ("SELECT cost FROM clicks FOR SYSTEM_TIME AS OF EPOCH 999 OF per_user", r"ASOF\.NO_EPOCH.*999"),
        ("SELECT cost FROM clicks FOR SYSTEM_TIME AS OF 'some day'", r"CONFIG\.BAD_OPTION"),
        ("a = SELECT cost FROM clicks; SELECT * FROM a FOR SYSTEM_TIME AS OF 5", r"SQL\.UNSUPPORTED"),
        ("SELECT cost FROM clicks UNION ALL SELECT cost FROM clicks ORDER BY 1", r"ORDER BY in a UNION"),
        ("SELECT cost FROM clicks ORDER BY 7", r"SQL\.BAD_VALUE.*ORDER BY"),
        ("SELECT cost FROM (SELECT cost FROM clicks LIMIT 3) AS x", r"SQL\.LIMIT_WITHOUT_ORDER"),
        ("SELECT * FROM state.nothing", r"SQL\.UNKNOWN_NAME"),
    ],
)
def test_what_cannot_be_asked(store: Path, text: str, message: str) -> None:
    before = content(store)
    with pytest.raises(WaterclockError, match=message):
        ask(store, text)
    assert content(store) == before


def content(store: Path) -> list[object]:
    catalog = Catalog.open(store)
    tables = ("streams", "segments", "vertices", "epochs", "runs", "pins", "snapshots", "arrivals")
    found: list[object] = [sorted(map(str, catalog._db.query(f"SELECT * FROM {name}"))) for name in tables]
    catalog.close()
    return [*found, sorted(str(path) for path in store.rglob("*") if "sqlite" not in path.name)]


def test_programs_do_not_ask(tmp_path: Path) -> None:
    app = wc.App("test", tmp_path)
    app.stream("s", {"n": "bigint"}, time="n")
    for text in (
        "SELECT n FROM s ORDER BY n",
        "SELECT COUNT(*) AS n FROM s",
        "SELECT n FROM s FOR SYSTEM_TIME AS OF 5",
    ):
        with pytest.raises(wc.SqlError):
            app.sql(text)


def test_events_that_retention_removed_are_said(make_app: MakeApp, tmp_path: Path) -> None:
    app, clicks = declare(make_app, retention=50)
    catalog = Catalog.open(tmp_path / "store", create=True)
    for row in CLICKS:
        clicks.push([row])
    app.run(mode="offline")
    Keeper(Store(catalog, None), ["per_user"]).tidy()
    row = catalog.streams.get("clicks")
    assert row.first > 0
    now = catalog.now()
    assert ask(tmp_path / "store", "SELECT COUNT(*) AS n FROM clicks").item() == row.next - row.first
    with pytest.raises(WaterclockError, match=r"ASOF\.TRIMMED.*first one left is(.|\n)*START\(\) >= (.|\n)*pin add"):
        ask(tmp_path / "store", "SELECT COUNT(*) AS n FROM clicks", as_of=now)
    since = row.cti - 50
    asked = "SELECT COUNT(*) AS n FROM clicks WHERE t >= :since"
    kept = sum(r["t"] >= since for r in CLICKS)  # type: ignore[operator]
    assert ask(tmp_path / "store", asked, as_of=now, params={"since": since}).item() == kept
    catalog.close()


def test_only_segments_of_the_time_are_read(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    laid: list[int] = []
    real = asking.lay

    def noted(*args: object) -> object:
        found = real(*args)
        laid.append(found.rows)
        return found

    monkeypatch.setattr(asking, "lay", noted)
    for text, rows in (
        ("SELECT cost FROM clicks WHERE t >= 150", 5),
        ("SELECT cost FROM clicks WHERE START() < TIMESTAMP '1970-01-01T00:00:00.000050Z'", 5),
        ("SELECT cost FROM clicks WHERE t BETWEEN 50 AND 60 AND cost > 0", 2),
        ("SELECT COUNT(*) AS n FROM clicks WHERE 100 == t", 1),
        ("SELECT COUNT(*) AS n FROM clicks WHERE END() <= TIMESTAMP '1970-01-01T00:00:00.000050Z'", 5),
        ("SELECT cost FROM clicks WHERE t >= 150 OR cost == 0", 20),
        ("SELECT a.cost FROM clicks AS a JOIN clicks AS b ON a.user == b.user WHERE a.t >= 180 AND b.t >= 190", 2),
    ):
        laid.clear()
        ask(store, text)
        assert laid == [rows], text


def test_a_range_of_time_is_found_in_conditions() -> None:
    plan = Input("s", Schema.of({"t": "bigint", "x": "bigint"}), True)
    declared = {"s": Declaration("s", plan.schema, "t")}
    found = ranges.ranges(Filter(plan, (col("t") >= 5) & (lit(9) > col("t")) & (col("x") > 3)), declared)
    assert found == {"s": ranges.Range(5, 8)}
    assert ranges.ranges(Filter(plan, start().unix_micros() > 5), declared) == {"s": ranges.Range(6, FOREVER)}
    assert ranges.ranges(Filter(plan, col("x") > 5), declared)["s"].is_open
    assert ranges.Range(BEGINNING, 3).either(ranges.Range(5, 9)) == ranges.Range(BEGINNING, 9)


def test_a_question_that_reads_everything_by_mistake(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "TOO_MANY", 10)
    with pytest.raises(WaterclockError, match=r"QUERY\.SCANS_ALL.*20 events of 'clicks'"):
        ask(store, "SELECT cost FROM clicks")
    assert ask(store, "SELECT cost FROM clicks", scan_all=True).height == 20
    assert ask(store, "SELECT cost FROM clicks WHERE t > 0").height == 19


def test_files_that_go_meanwhile(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compaction and sweeping between the look at the catalog and the reading: it is begun again."""
    monkeypatch.setattr(keeper, "GROUP", 4)
    real, tries = here.lazy, []

    def late(*args: object) -> object:
        if not tries:
            tries.append(1)
            catalog = Catalog.open(store)
            tidy = Keeper(Store(catalog, None), ["per_user"], orphan_age=0.0)
            for _ in range(3):
                tidy.tidy()
            tidy.sweep()
            tidy.sweep()
            catalog.close()
            for file in args[1]["clicks"].files:  # type: ignore[index]
                file.unlink(missing_ok=True)
        return real(*args)

    monkeypatch.setattr(here, "lazy", late)
    assert ask(store, "SELECT cost FROM clicks ORDER BY cost")["cost"].to_list() == list(range(20))


def test_of_a_running_app(make_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are prefixes of what was pushed, and of one cut, while files are merged and removed at once."""
    monkeypatch.setattr(launch, "runner_of", lambda *_: InProcessRunner())
    monkeypatch.setattr(keeper, "GROUP", 4)
    monkeypatch.setattr(keeper, "GRACE", 0.0)
    monkeypatch.setattr(launch, "Keeper", partial(Keeper, tidy_every=0.05))
    app, clicks = declare(make_app)
    clicks.filter(wc.col("cost") >= 0).into("kept")
    handle = app.run(mode="live")
    stop = threading.Event()

    def feed() -> None:
        n = 0
        while not stop.wait(0.001):
            clicks.push([{"user": "x", "cost": n, "t": n * 10}])
            n += 1

    thread = threading.Thread(target=feed)
    thread.start()
    try:
        last, asked = 0, 0
        while last < 200 or asked < 20:
            asked += 1
            found = ask(tmp_path / "store", "SELECT cost FROM clicks ORDER BY cost")["cost"].to_list()
            assert found == list(range(len(found)))
            assert len(found) >= last
            last = len(found)
            each = "SELECT 1 AS a, 0 AS b FROM clicks UNION ALL SELECT 0 AS a, 1 AS b FROM kept"
            taken, made = ask(tmp_path / "store", f"SELECT SUM(a) AS a, SUM(b) AS b FROM ({each}) AS x").row(0)
            assert taken is None or (taken >= made and taken >= last)
    finally:
        stop.set()
        thread.join()
        handle.stop()
    assert max(level_of(tmp_path / "store")) > 0


def level_of(store: Path) -> list[int]:
    catalog = Catalog.open(store)
    levels = [segment.level for segment in catalog.streams.segments("clicks", 0, FOREVER)]
    catalog.close()
    return levels


def test_an_app_asks_with_its_queries_and_streams(make_app: MakeApp) -> None:
    app, clicks = declare(make_app)
    for row in CLICKS:
        clicks.push([row])
    app.sql("dear = SELECT user, cost FROM clicks WHERE cost > 15")
    app.run(mode="offline")
    assert app.query("SELECT COUNT(*) AS n FROM dear").item() == 4
    assert app.query(clicks.filter(wc.col("cost") > 15)).height == 4
    slices = wc.dstream(clicks, 10).map(user="user", n=wc.lit(1)).reduce_by_key(wc.sum)
    top = app.query(slices.slice(0, 200).top_k(1))
    assert top.height == 20  # every interval has one, and all are equal
    counts = wc.dstream(app.read("per_user"), 100).map(user="user", total="total")
    assert app.query(counts.slice(0, 100).top_k(1)).rows()[0][2:] == ("u0", 18)


def test_the_command(store: Path) -> None:
    def run(*words: str) -> str:
        done = CliRunner().invoke(main, ["query", *words, "--store", str(store)])
        assert done.exit_code == 0, done.output
        return done.stdout

    shown = run("SELECT user, COUNT(*) AS n FROM clicks GROUP BY user ORDER BY user")
    assert shown.splitlines() == ["user  n", "u0    7", "u1    7", "u2    6"]
    rows = run("SELECT cost FROM clicks", "--format", "json", "--limit", "2").splitlines()
    assert json.loads(rows[1]) == {
        "valid_from": "1970-01-01T00:00:00.000010Z", "valid_to": "1970-01-01T00:00:00.000011Z", "cost": 1,
    }  # fmt: skip
    assert (
        run("SELECT MAX(cost) AS most FROM clicks WHERE cost < :x", "--format", "csv", "--param", "x=5") == "most\n4\n"
    )
    failed = CliRunner().invoke(main, ["query", "SELECT 1 FROM nothing", "--store", str(store)])
    assert failed.exit_code == 2
    assert "SQL.UNKNOWN_NAME" in failed.stderr
    failed = CliRunner().invoke(main, ["query", "SELECT * FROM clicks", "--store", str(store), "--as-of", "2999-01-01"])
    assert "ASOF.FUTURE" in failed.stderr


def test_the_magic_of_notebooks(store: Path) -> None:
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))  # nothing in the home

    def cell(text: str) -> object:
        done = shell.run_cell(text)
        done.raise_error()
        return done.result

    cell("%load_ext waterclock\nleast = 18")
    found = cell(f"%%waterclock --store {store}\nSELECT cost FROM clicks WHERE cost >= :least")
    assert isinstance(found, pl.DataFrame)
    assert found["cost"].to_list() == [18, 19]
    assert cell("%%waterclock --into=kept --limit 1\nSELECT cost FROM clicks") is None
    assert cell("kept.height") == 1
    with pytest.raises(wc.ConfigError, match="Options"):
        cell("%%waterclock --stroe x\nSELECT cost FROM clicks")
