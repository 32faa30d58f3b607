"""Edge values, by pool. A pool is a type, or a type and what its values are for: ``string:json``."""

from __future__ import annotations

import itertools
import math
import random
from datetime import UTC, date, datetime
from typing import Any

from waterclock.schema import TYPES


def _at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]


POOLS: dict[str, list[Any]] = {
    "boolean": [True, False, None],
    "int": [0, 1, -1, 7, -7, 2**31 - 1, -(2**31), 100, None],
    "int:place": [1, 0, -1, 2, -2, 3, 5, 100, -100, None],
    "int:shift": [0, 1, 31, 32, 33, 63, 64, -1, None],
    "bigint": [0, 3, -3, 10**12, 2**63 - 1, -(2**63), 2**31, None],
    "float": [0.0, -0.0, 1.5, -2.25, 0.1, math.inf, math.nan, 2.0**100, None],
    "double": [0.0, -0.0, 2.5, -7.75, 0.1, 1e18, 1e300, math.inf, -math.inf, math.nan, 2.0**63, None],
    "double:text": [0.0, -0.0, 1.0, -1.5, 1e7, 9999999.0, 123456789.125, 0.001, 0.00099, 1e-10, 1e22, 1.5e300, 4.9e-324,
                    math.inf, -math.inf, math.nan, 0.1, 1 / 3, 100.0, None],
    "double:angle": [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, 3.14159, -100.25, 1e10, math.inf, -math.inf, math.nan, None],
    "double:round": [0.5, 1.5, 2.5, -0.5, -2.5, 2.675, 1.005, 0.285, 1234.5678, -1234.5678, 5e15, 1e18, 12345678.905, math.inf,
                     math.nan, 0.0, -0.0, None],
    "double:second": [0.0, 1.5, 59.999999, 60.0, 60.5, -1.0, 61.0, 0.0000005, math.nan, math.inf, None],
    "string": ["", "a", "A b ", " ä", "日本", "ß", "1", "Hello World", "aXbXc", "😀e\u0301", "a\nb", "a.b", "%_", None],
    "string:part": ["", "a", "b", "X", ".", "日", "😀", "l", " ", "zz", None],
    "string:number": ["12", "-3", "+4", "", "x", "1.5", " 7 ", "9999999999", "1e3", ".5", "5.", "inf", "-Infinity", "NaN", "1d", "1e999",
                      "0x10", "--1", "٣", "2147483648", "-2147483648", "00012", "1 2", None],
    "string:boolean": ["true", "F", "1", "0", "yes", "No", "y", "maybe", "", " true ", "2", None],
    "string:moment": [
        "2024-02-29", "2023-02-29", "2024-2-9", "2024", "2024-02", "2024-02-29T10:11:12.5Z", "2024-02-29 10:11:12", "2024-02-29 10:11",
        "2024-02-29 10", "2024-02-29 24:00:00", "2024-02-29 1:2:3", "2024-02-29T10:11:12.123456789", "2024-02-29 10:11:12+01:00",
        "2024-02-29 10:11:12 -0530", "2024-02-29 10:11:12 UTC", "2024-02-29T", "2024-02-29 foo", " 2024-02-29 ", "x", "", "24-02-29",
        "0001-01-01", "9999-12-31 23:59:59.999999", "2024-13-01", "2024-00-10", "2024-04-31", "2024-02-29 10:60:00",
        "2024/02/29", "20240229", "2024-02-29 10:11:12.", "2024-02-29 10:11:12+19:00", "1582-10-10", "2024-02-29 10:11:12 GMT+2",
        "2024-02-29-10", None],
    "string:json": [
        '{"a":1,"b":"x"}', '{"a":{"b":[1,2,{"c":null}]}}', '{"a":null}', '{"a":"ä\\u00e4\\n\\"q\\""}', "[1,2,3]", '[{"a":1},{"a":2}]', "{}", "[]",
        '"text"', "12", "true", "null", "", "{", '{"a":1.50,"b":1e3}', '{"a":true,"b":false}', '{"a":"1","c":[]}', ' { "a" : [ 1 , 2 ] } ',
        '{"a":12345678901234567890}', '{"a":""}', "x", None],
    "string:hex": ["", "00", "ff", "FF", "0", "abc", "4a4B", "xy", " 41", None],
    "string:base64": ["", "YQ==", "YWI=", "YWJj", "/+8=", "YQ", None],
    "string:url": ["a b&c", "a+b%20c", "ä/ö?", "%E4%BD%A0", "", "~-_.*", None],
    "string:stamp": ["2024-02-29 10:11:12", "2023-02-29 10:11:12", "2024-02-29", "29/02/2024", "20240229", "2024-2-9 1:2:3", "x", "", "2024-02-29 25:00:00",
                     "2024-02-29T10:11:12.123", "2024-02-29 10:11:12 ", "02/29/2024 10:11 PM", None],
    "binary": [b"", b"\xff", b"ab", "ä".encode(), b"\x00\x01", None],
    "date": [date(1970, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(2023, 1, 31), date(2024, 12, 31), date(1, 1, 1), date(9999, 12, 31),
             date(1600, 2, 29), date(2021, 1, 3), None],
    "timestamp": [
        _at(1970, 1, 1), _at(1969, 12, 31, 23, 59, 59, 999999), _at(2024, 2, 29, 12, 34, 56, 789012), _at(2024, 3, 31, 1, 30), _at(2024, 10, 27, 0, 30),
        _at(2024, 10, 27, 1, 30), _at(2024, 12, 31, 23, 59, 59), _at(1900, 3, 1, 1, 2, 3, 4), _at(9999, 12, 31, 23, 59, 59, 999999),
        _at(2021, 1, 1, 0, 0, 0, 500000), _at(1, 1, 1), None],
    "timestamp:local": [
        _at(2024, 3, 31, 2, 30), _at(2024, 3, 31, 1, 59, 59), _at(2024, 3, 31, 3), _at(2024, 10, 27, 2, 30), _at(2024, 7, 1, 12), _at(2024, 1, 1),
        _at(1969, 12, 31, 23, 59, 59, 999999), _at(2011, 12, 30, 12), _at(1883, 11, 18, 12), None],
    "bigint:epoch": [0, 1, -1, 1709209872, -1709209872, 10**10, -(10**10), None],
    "int:day": [0, 1, -1, 28, 31, 366, -366, 100000, None],
    "int:month": [0, 1, -1, 12, 13, 2, -25, None],
    "array<int>": [[], [1, 2, 3], [3, 1, 2, 1], [None, 1], [None], [2**31 - 1, -(2**31)], None],
    "array<bigint>": [[1], [2**62, 3], None],
    "array<string>": [[], ["a", "b"], ["b", "a", "a"], ["", None, "ä"], [None], ["日本"], None],
    "array<double>": [[], [1.5, math.nan, -0.0, 0.0], [None, math.inf], [2.5], None],
    "array<array<int>>": [[], [[1, 2], [], [3]], [[1], None], [[None]], None],
    "struct<a:int,b:string>": [{"a": 1, "b": "x"}, {"a": None, "b": "ä\"\n"}, {"a": -5, "b": None}, {"a": None, "b": None}, None],
    "struct<d:double,t:timestamp,l:array<int>>": [
        {"d": 1.0, "t": _at(2024, 2, 29, 12, 34, 56), "l": [1, None]}, {"d": 1e10, "t": _at(1970, 1, 1, 0, 0, 0, 500), "l": []},
        {"d": None, "t": None, "l": None}, None],
}  # fmt: skip

MOST_ROWS = 64


def kind_of(pool: str) -> str:
    return pool if "<" in pool else pool.split(":")[0]


def rows_of(pools: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """Every combination, or where there are too many: every value, in many combinations."""
    values = [POOLS[pool] for pool in pools]
    if math.prod(map(len, values)) <= MOST_ROWS:
        return list(itertools.product(*values))
    rng = random.Random("-".join(pools))
    shuffled = [rng.sample(pool, len(pool)) for pool in values]
    return [
        tuple(pool[index] if index < len(pool) else rng.choice(pool) for pool in shuffled) for index in range(MOST_ROWS)
    ]


assert all(kind_of(pool) in TYPES for pool in POOLS)
