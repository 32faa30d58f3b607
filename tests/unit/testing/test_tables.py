"""Tables of text: what cells mean, what is said about wrong ones, and that what is shown is read back."""

from __future__ import annotations

from datetime import date
from typing import Any

import polars as pl
import pytest

import waterclock as wc
from waterclock.schema import Schema
from waterclock.streams import Declaration
from waterclock.testing.tables import Mark, Table, laid_out
from waterclock.testing.times import Times
from waterclock.testing.values import expected_of, rows_of, written
from waterclock.time import FOREVER, instant

TIMES = Times("2026-01-05")
TEN = instant("2026-01-05T10:00:00Z")
STREAM = Declaration(
    "orders",
    Schema.of({
        "user": "string", "amount": "bigint", "few": "int", "price": "double", "ok": "boolean", "day": "date",
        "tags": "array<string>", "since": "timestamp", "until": "timestamp",
    }),
    "since", end="until",
)  # fmt: skip


def rows(text: str, declaration: Declaration = STREAM) -> list[dict[str, Any]]:
    table = Table(text, "the table for 'orders'")
    cells = [row for row in table.rows if not isinstance(row, Mark)]
    frame = rows_of(table, cells, declaration, TIMES, None)
    assert frame.schema == declaration.schema.polars()
    return frame.with_columns(pl.selectors.datetime().to_physical()).to_dicts()


def refused(text: str, declaration: Declaration = STREAM) -> str:
    with pytest.raises(wc.ConfigError) as error:
        rows(text, declaration)
    return str(error.value)


# -- times -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("10:00", "2026-01-05T10:00:00"),
        ("9:05:07", "2026-01-05T09:05:07"),
        ("10:00:05.25", "2026-01-05T10:00:05.250000"),
        ("2026-02-01", "2026-02-01T00:00:00"),
        ("2026-02-01 10:00", "2026-02-01T10:00:00"),
        ("2026-02-01T10:00:05+01:00", "2026-02-01T09:00:05"),
        ("17", "1970-01-01T00:00:00.000017"),
    ],
)
def test_times_are_read(text: str, iso: str) -> None:
    assert TIMES.read(text) == instant(iso)


@pytest.mark.parametrize("text", ["24:00", "10:60", "10", "10:00", "10:00:05.25", "2026-02-01T10:00", "∞"])
def test_what_is_shown_is_read_back(text: str) -> None:
    if text in ("24:00", "10:60"):
        with pytest.raises(wc.ConfigError, match=r"TEST.BAD_TIME.*is not a time"):
            TIMES.read(text)
    elif text == "∞":
        assert TIMES.show(FOREVER) == text
    else:
        assert TIMES.read(TIMES.show(TIMES.read(text))) == TIMES.read(text)
        assert text == "10" or TIMES.show(TIMES.read(text)) == text


# -- cells -------------------------------------------------------------------------------------------------


def test_cells_have_the_types_of_the_stream() -> None:
    found = rows("""
        user | amount | few | price | ok    | day        | tags       | from  | to
        ann  | 3      | -2  | 1.5   | true  | 2026-01-06 | ["a", "b"] | 10:00 | 10:05
    """)
    assert found == [
        {
            "user": "ann", "amount": 3, "few": -2, "price": 1.5, "ok": True, "day": date(2026, 1, 6),
            "tags": ["a", "b"], "since": TEN, "until": TEN + 300_000_000,
        }
    ]  # fmt: skip


def test_nulls_open_ends_and_texts_with_spaces() -> None:
    found = rows("""
        user          | price | from  | to
        ann of Oz     | null  | 10:00 |
                      |       | 10:01 | open
        "null"        | nan   | 10:02 | ∞
        ""            | 1     | 10:03 | null
        " a | \\"b\\" " | 2   | 10:04 | 10:05
    """)
    assert [row["user"] for row in found] == ["ann of Oz", None, "null", "", ' a | "b" ']
    assert [row["until"] for row in found] == [None, None, None, None, TEN + 300_000_000]
    assert found[0]["price"] is None


def test_relative_times() -> None:
    found = rows("user | from | to\n a | 10:00 | +5m\n b | +1s | +1h 30m\n c | +1s | 12:00")
    assert [row["since"] - TEN for row in found] == [0, 1_000_000, 2_000_000]
    assert [row["until"] - row["since"] for row in found[:2]] == [300_000_000, 5_400_000_000]


def test_own_names_of_the_lifetime_rulers_borders_and_comments() -> None:
    found = rows("""
        | user | since | until |
        |------|-------|-------|
        # not this one
        | ann  | 10:00 |       |
    """)
    assert [(row["user"], row["since"], row["until"]) for row in found] == [("ann", TEN, None)]


def test_time_as_a_number() -> None:
    numbers = Declaration("n", Schema.of({"x": "int", "t": "bigint"}), "t")
    assert rows("x | t\n 1 | 5\n 2 | 10:00", numbers) == [{"x": 1, "t": 5}, {"x": 2, "t": TEN}]


def test_a_column_that_is_called_like_a_lifetime() -> None:
    letters = Declaration("letters", Schema.of({"from": "string", "to": "string", "ts": "timestamp"}), "ts")
    assert rows("from | to | at\n ann | bob | 10:00", letters) == [{"from": "ann", "to": "bob", "ts": TEN}]


def test_a_wrong_value_is_shown_with_its_line_and_column() -> None:
    assert refused("\n  user | amount | from\n  ann  | 3      | 10:00\n  bob  | many   | 10:01\n") == (
        "[TEST.BAD_TABLE] the table for 'orders', line 4: column 'amount': 'many' is not bigint.\n"
        "    bob  | many   | 10:01\n"
        "           ^^^^\n"
        "  hint: Write a whole number below 2^63, such as 42, or null."
    )


@pytest.mark.parametrize(
    ("column", "text", "said"),
    [
        ("few", "3000000000", "'3000000000' is not int"),
        ("price", "cheap", "'cheap' is not double"),
        ("ok", "yes", "'yes' is not boolean"),
        ("day", "5.1.2026", "'5.1.2026' is not date"),
        ("tags", "a, b", "'a, b' is not array<string>"),
        ("tags", "[1, 2]", "'[1, 2]' is not array<string>"),
        ("until", "later", "'later' is not a time"),
        ("until", "+x", "'+x' is not a time"),
    ],
)
def test_every_type_says_what_to_write(column: str, text: str, said: str) -> None:
    message = refused(f"user | {column} | from\n ann | {text} | 10:00")
    assert f"line 2: column '{column}': {said}." in message
    assert "hint: Write " in message


def test_a_start_needs_a_row_above_to_be_relative_to() -> None:
    assert "column 'since': '+5s' is not a time" in refused("user | from\n ann | +5s")


def test_an_unknown_column() -> None:
    assert refused("user | amuont | from\n ann | 3 | 10:00") == (
        "[TEST.BAD_TABLE] the table for 'orders', line 1: there is no column 'amuont' in 'orders'.\n"
        "  user | amuont | from\n"
        "         ^^^^^^\n"
        "  hint: Columns there: user, amount, few, price, ok, day, tags, since, until; for the lifetime: from, to. "
        "Did you mean 'amount'?"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("user | amount\n ann | 3", "no column says when an event of 'orders' starts"),
        ("user | user | from\n a | b | 10:00", "the column 'user' is there twice"),
        ("user | | from\n a | b | 10:00", "a column has no name"),
        ("user | from\n ann | 3 | 10:00", "it has 3 cells, and the line of names has 2"),
        ('user | from\n "ann | 10:00', '"ann | 10:00 is not a quoted text'),
        ("user | from\n ann | 10:00\n !stop", "there is no !stop"),
    ],
)
def test_tables_that_are_none(text: str, said: str) -> None:
    assert said in refused(text)


# -- what came out -----------------------------------------------------------------------------------------


def test_an_expected_table_may_name_some_columns_or_no_lifetime() -> None:
    def expected(text: str) -> tuple[list[str], bool, list[Any]]:
        found = expected_of(Table(text), "orders", STREAM.schema, TIMES)
        return found.columns, found.timed, found.events

    assert expected("user | amount\n ann | 3") == (["user", "amount"], False, [(0, 1, {"user": "ann", "amount": 3})])
    assert expected("amount | at\n 3 | 10:00") == (["amount"], True, [(TEN, TEN + 1, {"amount": 3})])
    assert expected("from | to | user\n 10:00 | | ann") == (["user"], True, [(TEN, FOREVER, {"user": "ann"})])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("who | from | to\n a | 10:00 | 10:05", "there is no column 'who' in 'orders'"),
        ("user | from\n a | 10:00", "'from' alone is not a lifetime"),
        ("user | from | to\n a | | 10:00", "an event has no start"),
        ("user | at\n a | 10:00\n !crash", "rows that are expected cannot crash or advance"),
    ],
)
def test_expected_tables_that_are_none(text: str, said: str) -> None:
    with pytest.raises(wc.ConfigError, match=r"TEST.BAD_TABLE") as error:
        expected_of(Table(text), "orders", STREAM.schema, TIMES)
    assert said in str(error.value)


def test_what_is_written_is_read_back() -> None:
    events = [
        (TEN, TEN + 5, {"user": text, "price": price, "ok": None, "day": date(2026, 1, 5), "tags": ["|", 'a"b']})
        for text, price in (
            ("a b", 0.1),
            ("null", 1e300),
            ("", -2.0),
            (" x", 3.0),
            ('a|"', 1.5),
            ("!no", 1.0),
            ("--", 1.0),
            ("#", 1.0),
            (None, 2.0),
        )
    ]
    header, cells = written(events, ["user", "price", "ok", "day", "tags"], True, STREAM.schema, TIMES)
    text = "\n".join(laid_out(header, cells))
    assert expected_of(Table(text), "orders", STREAM.schema, TIMES).events == events
