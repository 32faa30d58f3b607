"""What is said to a vertex from outside: filters against events that it cannot digest, and the number of its tasks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import waterclock as wc
from waterclock.catalog import Catalog
from waterclock.cli.main import main
from waterclock.runtime.log import StreamReader

MakeApp = Callable[..., wc.App]
COLUMNS = {"user": str, "n": int, "t": "bigint"}


def declare(make_app: MakeApp, poison: int | None = None) -> tuple[wc.App, wc.SourceStream]:
    @wc.function(returns="bigint", per_row=True)
    def digest(n: int) -> int:
        if n == poison:
            raise ValueError("this one is poison")
        return n * 2

    app = make_app()
    clicks = app.stream("clicks", COLUMNS, time="t")
    doubled = (
        clicks.select("user", m=digest(wc.col("n"))) if poison is not None else clicks.select("user", m=wc.col("n"))
    )
    doubled.group_by("user").tumbling(10).agg(total=wc.sum("m")).into("totals")
    return app, clicks


def rows(start: int, end: int) -> list[dict[str, object]]:
    return [{"user": "ab"[n % 2], "n": n, "t": n} for n in range(start, end)]


def command(tmp_path: Path, *words: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, [*words, "--store", str(tmp_path / "store")])
    return result.exit_code, result.output


def totals(tmp_path: Path) -> dict[tuple[str, int], int]:
    catalog = Catalog.open(tmp_path / "store")
    frame = StreamReader(catalog, "totals").read(0, catalog.streams.get("totals").next)
    catalog.close()
    return {(user, vs): total for user, vs, total in frame.select("user", "_vs", "total").rows()}


def expected(kept: list[int], factor: int = 1) -> dict[tuple[str, int], int]:
    found: dict[tuple[str, int], int] = {}
    for n in kept:
        key = ("ab"[n % 2], n // 10 * 10)
        found[key] = found.get(key, 0) + factor * n
    return found


def test_a_filter_holds_from_the_next_epoch_until_it_is_taken_back(make_app: MakeApp, tmp_path: Path) -> None:
    app, clicks = declare(make_app)
    clicks.push(rows(0, 20))
    app.run(mode="offline")
    assert command(tmp_path, "filter", "add", "totals", "n % 5 = 0 AND user = 'a'") == (
        0, "filter 1: totals leaves out events of clicks where n % 5 = 0 AND user = 'a', from its next epoch on\n",
    )  # fmt: skip
    clicks.push(rows(20, 40))
    app.run(mode="offline")
    assert command(tmp_path, "filter", "remove", "1")[0] == 0
    clicks.push(rows(40, 60))
    clicks.end()
    app.run(mode="offline")
    kept = [n for n in range(60) if not (20 <= n < 40 and n % 5 == 0 and n % 2 == 0)]
    assert totals(tmp_path) == expected(kept)
    listed = command(tmp_path, "filter", "list")[1].splitlines()[1].split()
    assert listed[-3:] == ["20", "40", "no"]


def test_an_epoch_that_fails_on_an_event_goes_on_without_it(make_app: MakeApp, tmp_path: Path) -> None:
    app, clicks = declare(make_app, poison=7)
    clicks.push(rows(0, 20))
    clicks.end()
    for _ in range(2):
        with pytest.raises(wc.UserError, match="poison"):
            app.run(mode="offline")
    assert command(tmp_path, "filter", "add", "totals", "n = 7")[0] == 0
    app.run(mode="offline")
    assert totals(tmp_path) == expected([n for n in range(20) if n != 7], 2)


def test_the_number_of_tasks_changes_with_the_next_epoch(make_app: MakeApp, tmp_path: Path) -> None:
    app, clicks = declare(make_app)
    clicks.push(rows(0, 25))
    app.run(mode="offline")
    for tasks, end in (("3", 50), ("1", 75), ("auto", 100)):
        assert command(tmp_path, "scale", "totals", tasks)[0] == 0
        clicks.push(rows(end - 25, end))
        if end == 100:
            clicks.end()
        app.run(mode="offline")
        catalog = Catalog.open(tmp_path / "store")
        parts = {len(catalog.epochs.runs("totals")), catalog.epochs.tasks("totals")}
        catalog.close()
        assert tasks == "auto" or int(tasks) in parts
    assert totals(tmp_path) == expected(list(range(100)))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("filter", "add", "total", "n = 1"), "[STORE.NO_OUTPUT] There is no output 'total'"),
        (("filter", "add", "totals", "m = 1"), "[SQL.UNKNOWN_COLUMN]"),
        (("filter", "add", "totals", "n + 1"), "[SQL."),
        (("filter", "add", "totals", "n = 1 GROUP BY user"), "[SQL."),
        (("filter", "add", "totals", "n = 1; SET x = 2"), "[SQL.UNSUPPORTED] Anything but a condition"),
        (("filter", "add", "totals", "n = 1", "--stream", "clocks"), "totals reads clicks"),
        (("filter", "remove", "5"), "Filters that hold: none"),
        (("scale", "totals", "0"), "Write a number from 1 on, or auto"),
        (("scale", "totals", "many"), "Write a number from 1 on, or auto"),
        (("scale", "nothing", "2"), "[STORE.NO_OUTPUT]"),
    ],
)  # fmt: skip
def test_mistakes_are_told(words: tuple[str, ...], says: str, make_app: MakeApp, tmp_path: Path) -> None:
    app, clicks = declare(make_app)
    clicks.push(rows(0, 5))
    app.run(mode="offline")
    code, output = command(tmp_path, *words)
    assert code in (1, 2)
    assert says in output
    assert "Traceback" not in output


def test_a_query_of_several_inputs_wants_to_know_which(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app()
    left, right = (app.stream(name, COLUMNS, time="t", duration=5) for name in ("left", "right"))
    left.join(right.select("n", "user"), on="n").into("met")
    left.push(rows(0, 9))
    right.push(rows(0, 9))
    app.run(mode="offline")
    assert "--stream left or right" in command(tmp_path, "filter", "add", "met", "n = 1")[1]
    assert command(tmp_path, "filter", "add", "met", "n = 1", "--stream", "right")[0] == 0
