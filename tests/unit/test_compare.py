"""``wc.diff`` and ``waterclock diff``."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
from click.testing import CliRunner, Result

import waterclock as wc
from waterclock.cli.main import main
from waterclock.compare import logical
from waterclock.compare.html import ROWS, body, page
from waterclock.compare.text import lines_of, text
from waterclock.schema import VE, VS
from waterclock.time import FOREVER

HOSTILE = "</svg><script>alert('x')</script>&\"\x00\x1b[31m\n"
START = 1_700_000_000_000_000


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def rows(*found: tuple[int, int, str, int]) -> pl.DataFrame:
    return pl.DataFrame(
        found, schema={VS: pl.Int64(), VE: pl.Int64(), "user": pl.String(), "n": pl.Int64()}, orient="row"
    )


ONE = rows((0, 10, "ann", 3), (0, 10, "bob", 1), (10, 20, "ann", 2))
OTHER = rows((0, 5, "ann", 3), (5, 10, "ann", 4), (0, 10, "bob", 1), (10, 20, "eve", 2))


def app_on(store: Path, extra: int = 0) -> wc.App:
    app = wc.App("shop", store)
    sales = app.stream("sales", {"user": str, "amount": float, "ts": "timestamp"}, time="ts")
    sales.group_by("user").tumbling("1m").agg(n=wc.count(), total=wc.sum("amount")).to(
        wc.jsonl(store / "totals.jsonl"), name="totals"
    )
    sales.filter(wc.col("amount") > 2).to(wc.parquet(store / "large"), name="large")
    sales.push({
        "user": [f"u{n % 3}" for n in range(20)],
        "amount": [n / 4 + (extra if n == 7 else 0) for n in range(20)],
        "ts": [START + n * 20_000_000 for n in range(20)],
    })  # fmt: skip
    sales.end()
    app.run(mode="offline")
    return app


@pytest.fixture
def stores(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs; one has another amount."""
    for name, extra in (("one", 0), ("two", 5)):
        app_on(tmp_path / name, extra)
    return tmp_path / "one", tmp_path / "two"


# -- in Python ---------------------------------------------------------------------------------------------


def test_only_here_and_only_there() -> None:
    found = wc.diff(ONE, OTHER)
    assert not found.equal
    assert found.only_a.rows() == [(5, 10, 1, "ann", 3), (10, 20, 1, "ann", 2)]
    assert found.only_b.rows() == [(5, 10, 1, "ann", 4), (10, 20, 1, "eve", 2)]
    assert found.changed.height == 0


def test_changed() -> None:
    found = wc.diff(ONE, OTHER, on="user")
    assert found.changed.rows() == [(5, 10, 1, "ann", 3, 4)]
    assert found.changed.columns == [VS, VE, "_n", "user", "a.n", "b.n"]
    assert found.only_a.rows() == [(10, 20, 1, "ann", 2)]
    assert found.only_b.rows() == [(10, 20, 1, "eve", 2)]
    assert found.columns() == {"n": 1}
    assert wc.diff(ONE, OTHER, on=["user", "user"]).changed.equals(found.changed)
    assert wc.diff(ONE, OTHER, on=["n", "user"]).counts() == {"only_a": 2, "only_b": 2, "changed": 0}
    assert str(found).splitlines()[0] == "different: only in a: 1, only in b: 1, changed: 1 (n 1); rows: 3 and 4"
    assert "~  1970-01-01 00:00:00.000005  1970-01-01 00:00:00.00001  ann   3 → 4" in str(found)


def test_equal_however_it_is_cut() -> None:
    found = wc.diff(
        rows((0, 10, "ann", 3), (4, 8, "ann", 3)), rows((0, 8, "ann", 3), (4, 6, "ann", 3), (6, 10, "ann", 3))
    )
    assert found.equal
    assert str(found) == "equal: 2 rows of a and 3 of b are the same at every instant"
    assert "<b>equal</b>" in found._repr_html_()


def test_copies_are_counted() -> None:
    found = wc.diff(rows(*[(0, 10, "ann", 3)] * 5), rows((0, 4, "ann", 3), *[(0, 10, "ann", 7)] * 2), on="user")
    assert found.changed.rows() == [(0, 10, 2, "ann", 3, 7)]
    assert found.only_a.rows() == [(0, 4, 2, "ann", 3), (4, 10, 3, "ann", 3)]
    assert "times" in str(found)


def test_columns_of_every_type() -> None:
    values = {
        "s": ["ä", None, ""], "b": [b"\x00\xff", None, b""], "d": [date(2026, 1, 5), None, date(1969, 1, 1)],
        "t": [datetime(2026, 1, 5, tzinfo=UTC), None, datetime(1969, 1, 5, tzinfo=UTC)],
        "y": [float("nan"), None, -0.0],
        "l": [[1, 2], None, []], "o": [True, None, False],
        "r": [{"p": 1, "q": "x"}, {"p": None, "q": None}, {"p": 1, "q": "y"}],
    }  # fmt: skip
    one = pl.DataFrame({VS: [1, 2, 3], VE: [5, 6, FOREVER], **values})
    other = one.reverse().with_columns(pl.col("y") + 0.0)
    for on in ((), "s", "l", "r", list(values)[:-1]):
        assert wc.diff(one, other, on).equal
    for name in values:
        keys = [key for key in values if key != name]
        for on in ((), keys):
            found = wc.diff(one, one.with_columns(pl.col(name).reverse()), on)
            assert not found.equal
            assert str(found)
            ElementTree.fromstring(f"<x>{found._repr_html_()}</x>")


def test_frames_of_all_kinds() -> None:
    written = ONE.select(
        pl.col(VS).cast(pl.Datetime("us", "UTC")).alias("valid_from"),
        pl.col(VE).cast(pl.Datetime("us", "UTC")).alias("valid_to"),
        pl.exclude(VS, VE),
    )
    for same in (written, written.to_arrow(), written.lazy(), written.to_pandas(), ONE.select("n", "user", VS, VE)):
        assert wc.diff(ONE, same).equal
    for wrong, why in (
        (ONE.drop(VE), "no column valid_from"),
        ([1], "list cannot be read"),
        (ONE.with_columns(pl.lit(0).alias(VE)), "row 0"),
    ):
        with pytest.raises(wc.ConfigError, match=why) as raised:
            wc.diff(ONE, wrong)
        assert raised.value.code == "RESULT.UNREADABLE"


def test_streams(stores: tuple[Path, Path]) -> None:
    one, two = (wc.App("shop", store) for store in stores)
    for app in (one, two):
        app.stream("sales", {"user": str, "amount": float, "ts": "timestamp"}, time="ts")
    found = wc.diff(one.named("sales"), two.named("sales"), on=["user", "ts"])
    assert found.columns() == {"amount": 1}
    assert found.a == f"{stores[0]}:sales"
    with pytest.raises(wc.ConfigError, match="not kept in the store"):
        wc.diff(one.named("sales").filter(wc.col("amount") > 1), two.named("sales"))


def test_unlike_columns() -> None:
    with pytest.raises(wc.ConfigError) as raised:
        wc.diff(ONE, OTHER.rename({"n": "m"}))
    assert raised.value.code == "RESULT.UNLIKE"
    assert "n only in a; m only in b" in raised.value.message
    assert "--columns user (in Python: columns=['user'])" in raised.value.hint
    with pytest.raises(wc.ConfigError, match="n is bigint and string"):
        wc.diff(ONE, OTHER.cast({"n": pl.String}))
    with pytest.raises(wc.ConfigError, match="no column in common"):
        wc.diff(ONE.select(VS, VE, "n"), OTHER.select(VS, VE, "user"))
    assert wc.diff(ONE, ONE.rename({"n": "m"}), columns=["user"]).equal
    assert wc.diff(ONE, ONE.with_columns(pl.lit(None).alias("user")), on="n").columns() == {"user": 3}
    for option in ({"on": "usr"}, {"columns": ["usr"]}):
        with pytest.raises(wc.ConfigError, match="There is no column 'usr'") as raised:
            wc.diff(ONE, OTHER, **option)  # type: ignore[arg-type]
        assert "Did you mean 'user'?" in raised.value.hint
    with pytest.raises(wc.ConfigError, match="reserved"):
        wc.diff(ONE.rename({"n": "_n"}), OTHER.rename({"n": "_n"}))
    with pytest.raises(wc.ConfigError, match="no columns"):
        wc.diff(ONE.select(VS, VE), OTHER.select(VS, VE))


def test_nothing_against_something() -> None:
    assert wc.diff(ONE.clear(), ONE.clear(), on="user").equal
    found = wc.diff(ONE.clear(), ONE, on="user")
    assert found.counts() == {"only_a": 0, "only_b": 3, "changed": 0}
    assert found.over_time()["only_b"].sum() >= 3


def test_doubles_rounded() -> None:
    one = pl.DataFrame({VS: [0, 0, 0], VE: [1, 1, 1], "y": [0.1 + 0.2, 0.0, float("inf")]})
    other = one.with_columns(pl.Series("y", [0.3, 0.0, float("inf")]))
    assert not wc.diff(one, other).equal
    found = wc.diff(one, other, digits=9)
    assert found.equal
    assert "note: doubles were rounded to 9 digits" in str(found)


def test_too_many_overlapping_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logical, "MOST", 3)
    with pytest.raises(wc.ConfigError) as raised:
        wc.diff(ONE, rows((2, 11, "ann", 8), (3, 12, "ann", 9)), on="user")
    assert raised.value.code == "RESULT.KEYS_OVERLAP"


def test_a_million_rows() -> None:
    size = 1_000_000
    one = pl.select(
        pl.int_range(size).alias(VS), pl.int_range(size).alias(VE) + 10, (pl.int_range(size) % 1000).alias("user"),
        pl.int_range(size).alias("n"),
    )  # fmt: skip
    middle = pl.concat([one.with_columns(pl.col(VE) - 5), one.with_columns(pl.col(VS) + 5)])
    other = middle.with_columns(pl.when(pl.col("n") == 777_777).then(-1).otherwise("n").alias("n"))
    found = wc.diff(one, other, on="user")
    assert found.changed.rows() == [(777_777, 777_787, 1, 777, 777_777, -1)]


def test_over_time() -> None:
    found = wc.diff(rows((START, FOREVER, "ann", 1)), rows((START + 3_600_000_000, START + 3_601_000_000, "bob", 1)))
    counts = found.over_time(10)
    assert counts["only_a"].to_list() == [1] * counts.height
    assert counts["only_b"].sum() == 1
    assert "over time, 2m a mark:" in str(found)
    ever = wc.diff(rows((1 - 2**61, FOREVER, "ann", 1)), rows())
    assert ever.over_time().height == 0
    assert "-  " in str(ever)
    ElementTree.fromstring(f"<x>{body(ever)}</x>")


def test_text_is_bounded() -> None:
    found = wc.diff(rows(*((n, n + 1, HOSTILE * 10, n) for n in range(1000))), rows())
    shown = text(found, 5)
    assert "... 995 more" in shown
    assert len(lines_of(found, 5)) == 5
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert max(map(len, shown.splitlines())) < 200
    assert "... 1,000 more" in text(found, 0)


def test_html_is_one_file_and_escaped() -> None:
    one, other = rows((0, 10, HOSTILE, 3), (0, 10, "x", 3)), rows((0, 10, HOSTILE, 4), (1, FOREVER, "y", 3))
    for on in ((), "user"):
        found = wc.diff(one.rename({"n": "<b>"}), other.rename({"n": "<b>"}), on)
        shown = page(found)
        root = ElementTree.fromstring(shown.removeprefix("<!DOCTYPE html>"))
        assert "<script" not in shown
        assert not any("src" in element.attrib or "href" in element.attrib for element in root.iter())
        assert "http://www.w3.org/2000/svg" in shown
        assert shown.count("http") == 1, "nothing comes from outside"
        assert any("</svg><script>" in (element.text or "") for element in root.iter("td"))
    many = page(wc.diff(rows(*((n, n + 1, f"u{n}", n) for n in range(1000))), rows()))
    assert many.count("<tr>") == ROWS + 1
    assert f"the first {ROWS} of 1,000" in many


# -- the command -------------------------------------------------------------------------------------------


def test_two_runs(stores: tuple[Path, Path]) -> None:
    one, two = stores
    same = call("diff", f"{one}:totals", f"{one}:totals", "--on", "user")
    assert (same.exit_code, same.stderr) == (0, "")
    assert same.stdout.startswith("equal: ")
    found = call("diff", f"{one}:totals", f"{two}:totals", "--on", "user")
    assert found.exit_code == 1
    assert "only in " in found.stdout
    assert "changed: 1 (total 1)" in found.stdout
    assert "→" in found.stdout


def test_against_what_sinks_wrote(stores: tuple[Path, Path]) -> None:
    one, two = stores
    for stream, file in (("totals", "totals.jsonl"), ("large", "large")):
        for sides in ((f"{one}:{stream}", one / file), (one / file, f"{one}:{stream}"), (one / file, one / file)):
            same = call("diff", *sides)
            assert (same.exit_code, same.stderr) == (0, ""), same.stdout
        assert call("diff", f"{one}:{stream}", two / file).exit_code == 1
    (parquet,) = (one / "large").glob("*.parquet")
    assert call("diff", f"{one}:large", parquet).exit_code == 0


def test_json_and_html(stores: tuple[Path, Path], tmp_path: Path) -> None:
    one, two = stores
    found = call(
        "diff", f"{one}:totals", f"{two}:totals", "--on=user", "--json", "--limit=1", "--html", tmp_path / "d.html"
    )
    assert found.exit_code == 1
    told = json.loads(found.stdout)
    assert (told["equal"], told["on"], told["columns"]) == (False, ["user"], {"total": 1})
    (only,) = told["changed"]["first"]
    assert only["user"] == "u1"
    assert only["b.total"] - only["a.total"] == 5
    assert only["valid_from"].startswith("2023-11-14T22:")
    assert sum(each["changed"] for each in told["over_time"]) >= 1
    ElementTree.fromstring((tmp_path / "d.html").read_text().removeprefix("<!DOCTYPE html>"))
    assert call("diff", f"{one}:totals", f"{two}:totals", "--html", tmp_path / "no" / "d.html").exit_code == 2


def test_a_part_of_time(stores: tuple[Path, Path]) -> None:
    sides = [f"{store}:totals" for store in stores]
    assert call("diff", *sides, "--to", "2023-11-14T22:15:00Z").exit_code == 0
    assert call("diff", *sides, "--from", "2023-11-14T22:15:00Z").exit_code == 1
    assert call("diff", *sides, "--from", "2023-11-14T22:17:00Z").exit_code == 0
    assert call("diff", *sides, "--from", "soon").exit_code == 2
    turned = call("diff", *sides, "--from", "2023-11-14T22:17:00Z", "--to", "2023-11-14T22:15:00Z")
    assert turned.exit_code == 2
    assert "later than 2023-11-14T22:17:00Z" in turned.stderr


def test_what_is_not_final_yet_and_what_is_gone(tmp_path: Path) -> None:
    app = wc.App("shop", tmp_path)
    sales = app.stream("sales", {"ts": "timestamp"}, time="ts", slack=None)
    sales.tumbling("1m").agg(n=wc.count()).into("totals")
    sales.push({"ts": [START]})
    sales.advance(START + 3_600_000_000)
    app.run(mode="offline")
    found = call("diff", f"{tmp_path}:totals", f"{tmp_path}:totals")
    assert found.exit_code == 0
    assert "is complete up to its CTI, 2023-11-14 23:1" in found.stdout
    assert "note" not in call("diff", f"{tmp_path}:totals", f"{tmp_path}:totals", "--to", "2023-11-14T22:30").stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ONE:totals"], "Name two results, or one and --batch"),
        (["ONE:totals", "ONE:totals", "--batch", "ONE/p.py"], "Name two results, or one and --batch"),
        (["ONE:totals", "ONE:large"], "n only in"),
        (["ONE:totals", "ONE:large"], "--columns user"),
        (["ONE:totals", "ONE:nothing"], "[STORE.NO_STREAM]"),
        (["ONE:totals", "none:totals"], "[STORE.NOT_THERE]"),
        (["ONE:totals", "ONE"], "Say which stream of it"),
        (["ONE:totals", "totals"], "Write STORE:STREAM"),
        (["ONE:totals", "ONE/broken.jsonl"], "[RESULT.UNREADABLE]"),
        (["ONE:totals", "ONE/broken.parquet"], "[RESULT.UNREADABLE]"),
        (["ONE:totals", "ONE/other.txt"], ".txt is not known"),
        (["ONE:totals", "ONE/streams"], "no Parquet file in it"),
        (["ONE:totals", "ONE:totals", "--on", "usr"], "Did you mean 'user'?"),
        (["ONE:totals", "ONE:totals", "--digits", "0"], "--digits"),
        (["ONE/totals.jsonl", "--batch", "ONE/p.py"], "name a stream: STORE:STREAM"),
        (["ONE:sales", "--batch", "ONE/p.py"], "[RUN.NO_OUTPUT]"),
    ],
)
def test_bad_input(stores: tuple[Path, Path], arguments: list[str], says: str) -> None:
    one = stores[0]
    (one / "broken.jsonl").write_text('{"valid_from": "2026-01-05T10:00:00Z"')
    (one / "broken.parquet").write_text("PAR")
    (one / "other.txt").write_text("")
    (one / "p.py").write_text(
        "import waterclock as wc\napp = wc.App('x')\napp.stream('s', {'t': int}, time='t').into('out')\n"
    )
    found = call("diff", *(argument.replace("ONE", str(one)) for argument in arguments))
    assert found.exit_code == 2, found.output
    assert says in found.stderr
    assert found.stdout == ""


def test_json_lines_of_every_type(tmp_path: Path) -> None:
    app = wc.App("types", tmp_path)
    schema = {
        "s": "string", "b": "binary", "d": "date", "t": "timestamp", "y": "double", "f": "float", "i": "int",
        "n": "bigint", "o": "boolean",
    }  # fmt: skip
    stream = app.stream("rows", schema, time="t")
    stream.with_columns(l=wc.array("n", "i")).to(wc.jsonl(tmp_path / "out.jsonl"), name="out")
    at = datetime(2026, 1, 5, 10, 0, 0, 123456, tzinfo=UTC)
    stream.push([
        {"s": "ä\n", "b": b"\x00\xff", "d": date(2026, 1, 5), "t": at.replace(microsecond=0), "y": 0.1,
         "f": 0.1, "i": 1, "n": 2**60, "o": True},
        {"t": at, "y": 1.0},
    ])  # fmt: skip
    stream.end()
    app.run(mode="offline")
    found = call("diff", f"{tmp_path}:out", tmp_path / "out.jsonl")
    assert found.exit_code == 0, found.output


def test_the_app_is_not_touched(stores: tuple[Path, Path], make_app: Callable[..., wc.App]) -> None:
    one = stores[0]
    before = {
        path: path.stat().st_mtime_ns for path in one.rglob("*") if path.is_file() and path.suffix != ".sqlite-shm"
    }
    assert call("diff", f"{one}:totals", one / "totals.jsonl").exit_code == 0
    after = {
        path: path.stat().st_mtime_ns for path in one.rglob("*") if path.is_file() and path.suffix != ".sqlite-shm"
    }
    assert {path for path in before if before[path] != after.get(path)} <= {one / "catalog.sqlite-wal"}
