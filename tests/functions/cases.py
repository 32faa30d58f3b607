"""What is evaluated: for every function, the pools of its arguments; constants stand as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.functions.values import kind_of
from waterclock.expr.nodes import Cast, Column, Expr, call
from waterclock.schema import Schema


@dataclass(frozen=True)
class K:
    """A constant argument."""

    value: Any


Args = tuple["str | K", ...]


@dataclass(frozen=True)
class Case:
    name: str
    """A function, or ``cast to type``."""
    args: Args

    @property
    def pools(self) -> tuple[str, ...]:
        return tuple(arg for arg in self.args if isinstance(arg, str))

    @property
    def schema(self) -> Schema:
        return Schema(tuple((f"c{index}", kind_of(pool)) for index, pool in enumerate(self.pools)))

    @property
    def expr(self) -> Expr:
        names = iter(self.schema.names)
        return self.over(*(Column(next(names)) if isinstance(arg, str) else arg.value for arg in self.args))

    def over(self, *args: Any) -> Expr:
        if self.name.startswith("cast to "):
            return Cast(args[0], self.name.removeprefix("cast to "))
        return call(self.name, *args)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(arg if isinstance(arg, str) else repr(arg.value) for arg in self.args)})"


def a(*args: Any) -> Args:
    """Pools, and constants in lists."""
    return tuple(K(arg[0]) if isinstance(arg, list) else arg for arg in args)


NUMBERS = ["int", "bigint", "float", "double"]
PAIRS = [("int", "int"), ("int", "bigint"), ("bigint", "bigint"), ("bigint", "float"), ("float", "float"), ("double", "double"),
         ("int", "double"), ("int", K(None)), ("bigint", K(2)), ("double", K(10)), ("int", K(10.0)), ("int", K(0))]  # fmt: skip
WHOLE = [("int", "int"), ("bigint", "int"), ("bigint", "bigint")]
ORDERED = [*PAIRS, ("string", "string"), ("binary", "binary"), ("date", "timestamp"), ("timestamp", "timestamp"), ("boolean", "boolean"),
           ("date", "date"), ("string", K(None))]  # fmt: skip
ONE_NUMBER = [(kind,) for kind in NUMBERS]
ANY = [("int",), ("double",), ("string",), ("array<int>",), ("struct<a:int,b:string>",), ("date",)]

TABLE: dict[str, list[Args]] = {
    # arithmetic
    **dict.fromkeys(["add", "subtract", "multiply", "divide", "mod", "pmod"], PAIRS),
    "div": WHOLE,
    **dict.fromkeys(["negate", "positive", "abs"], ONE_NUMBER),
    **dict.fromkeys(["bitand", "bitor", "bitxor"], WHOLE),
    **dict.fromkeys(["bitnot", "bit_count"], [("int",), ("bigint",)]),
    **dict.fromkeys(["shiftleft", "shiftright", "shiftrightunsigned"], [("int", "int:shift"), ("bigint", "int:shift")]),
    **dict.fromkeys(["floor_to", "ceil_to"], [a("int", [7], [3]), a("int", "int:place", "int:place"), a("bigint", [0])]),
    # mathematics
    **dict.fromkeys(["sqrt", "cbrt", "exp", "expm1", "ln", "log10", "log2", "log1p", "sin", "cos", "tan", "cot", "sec", "csc", "asin", "acos", "atan",
                     "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "degrees", "radians", "sign", "rint"],
                    [("double:angle",), ("int",), ("double",)]),
    **dict.fromkeys(["log", "pow", "atan2", "hypot"], [("double:angle", "double:angle"), ("int", "double:angle"), ("int:place", "int:place")]),
    **dict.fromkeys(["floor", "ceil"], [*ONE_NUMBER, ("double:round",)]),
    **dict.fromkeys(["round", "bround"], [a(pool, [n]) for pool in ("double:round", "double", "float", "int", "bigint") for n in (0, 1, 2, -1, -3, 15)]
                    + [("double:round",), a("double:round", [-25]), a("double:round", [30]), a("bigint", [-18]), a("int", [-9])]),
    "factorial": [("int",), ("int:place",)],
    "width_bucket": [a("double:angle", [-2.0], [2.0], [4]), a("double:angle", [2.0], [-2.0], [4]), ("double", "double:angle", "double:angle", "int:place")],
    "pi": [()],
    "e": [()],
    # comparison
    **dict.fromkeys(["eq", "ne", "lt", "le", "gt", "ge", "eq_null_safe"], ORDERED),
    "between": [("int", "int", "bigint"), ("double", "double", "double"), a("string", ["a"], ["b"])],
    "is_in": [a("int", [1], [7]), a("int", [1], [None]), a("int",), a("double", [2.5], [float("nan")]), ("string", "string:part", "string")],
    **dict.fromkeys(["and", "or"], [("boolean", "boolean"), ("boolean", K(None))]),
    **dict.fromkeys(["not", "is_true", "is_false"], [("boolean",)]),
    **dict.fromkeys(["is_null", "is_not_null"], ANY),
    "isnan": [("double",), ("float",), ("int",)],
    # conditions
    "case": [("boolean", "int", "double"), ("boolean", "string", "boolean", "string", "string"), a("boolean", "int", [None])],
    "if": [("boolean", "int", "bigint"), ("boolean", "string", "string"), ("boolean", "array<int>", "array<bigint>")],
    "coalesce": [("int", "bigint"), ("int", "double", "int"), a("string", ["x"]), ("date", "timestamp"), ("array<int>", "array<int>")],
    "nvl": [("int", "bigint"), ("string", "string")],
    "nvl2": [("int", "string", "string"), ("string", "int", "double")],
    "nullif": [("int", "int"), ("double", "double"), ("string", "string"), ("int", "bigint")],
    "nullifzero": ONE_NUMBER,
    "zeroifnull": ONE_NUMBER,
    "nanvl": [("double", "double"), ("float", "double")],
    **dict.fromkeys(["greatest", "least"], [("int", "int", "int"), ("double", "double"), ("string", "string"), ("int", "bigint", "double"),
                                            ("date", "timestamp")]),
    # strings
    **dict.fromkeys(["lower", "upper", "initcap", "trim", "ltrim", "rtrim", "length", "ascii", "mask", "url_encode"], [("string",)]),
    "btrim": [("string",), a("string", ["a"]), a("string", ["ä Hd"]), a("string", [""])],
    **dict.fromkeys(["octet_length", "bit_length", "base64", "hex"], [("string",), ("binary",)]),
    "concat_ws": [("string:part", "string", "string:part"), a([","], "string", "string"), ("string:part",)],
    "substring": [("string", "int:place", "int:place"), ("string", "int:place"), a("string", [2], [1]), ("string", "int", "int"), a("string", "bigint")],
    **dict.fromkeys(["left", "right", "repeat"], [("string", "int:place"), a("string", [2])]),
    **dict.fromkeys(["lpad", "rpad"], [("string", "int:place"), ("string", "int:place", "string:part"), a("string", [3], ["xy"])]),
    "space": [("int:place",)],
    "replace": [("string", "string:part"), ("string", "string:part", "string:part"), a("string", ["l"], ["LL"])],
    "translate": [a("string", ["aeX"], ["xy"]), a("string", ["日a"], ["1"]), a("string", ["aab"], ["123"]), a("string", [""], [""])],
    "overlay": [("string", "string:part", "int:place"), ("string", "string:part", "int:place", "int:place")],
    "instr": [("string", "string:part")],
    "locate": [("string:part", "string"), ("string:part", "string", "int:place")],
    "find_in_set": [("string:part", "string"), a("string:part", ["a,,b,l"])],
    "split_part": [("string", "string:part", "int:place"), a("string", ["X"], [2]), a("string", ["l"], [-1])],
    "substring_index": [("string", "string:part", "int:place"), a("string", ["X"], [2]), a("string", ["l"], [-2])],
    "elt": [("int:place", "string", "string"), ("int", "string", "string:part")],
    "chr": [("bigint",), ("int",), ("int:place",)],
    "unhex": [("string:hex",), ("string",)],
    "bin": [("bigint",), ("int",)],
    "unbase64": [("string:base64",)],
    **dict.fromkeys(["contains", "startswith", "endswith"], [("string", "string:part")]),
    "concat": [("string", "string:part"), a("string", ["-"], "string"), ("string",), ("array<int>", "array<bigint>")],
    # regular expressions
    "like": [a("string", ["a%"]), a("string", ["%b"]), a("string", ["_"]), a("string", ["%\\%%"]), a("string", ["a!_b"], ["!"]), a("string", ["a_b"])],
    "ilike": [a("string", ["A%"]), a("string", ["HELLO%"]), a("string", ["%Ä"])],
    "rlike": [a("string", [p]) for p in ("a", "^a", "b$", "[a-z]+", "\\d", "\\w\\s", "(?i)HELLO", "a.b", "^$", "\\Qa.b\\E", "[^a-zA-Z ]", "a|ä", "日?本")],
    "regexp_extract": [a("string", ["([a-z])([A-Z])"], [2]), a("string", ["(\\w+) (\\w+)"]), a("string", ["l+"], [0]), a("string", ["(x)?a"])],
    "regexp_extract_all": [a("string", ["([a-z])"]), a("string", ["(.)X(.)"], [2]), a("string", ["[a-zA-Z]"], [0]), a("string", ["(x)?[ab]"])],
    "regexp_replace": [a("string", ["[aeiou]"], ["*"]), a("string", ["(\\w)(\\w)"], ["$2$1"]), a("string", ["X"], ["\\$"]), a("string", ["^"], [">"]),
                       a("string", ["x*"], ["-"])],
    "regexp_count": [a("string", ["l"]), a("string", ["[a-z]"]), a("string", ["."])],
    "regexp_substr": [a("string", ["[a-z]+"]), a("string", ["X."])],
    "regexp_instr": [a("string", ["[A-Z]"]), a("string", ["b"])],
    "split": [a("string", ["X"]), a("string", [" "]), a("string", [""]), a("string", ["[lX]"]), a("string", ["\\Q.\\E"]), a("string", ["l+"])],
    # dates and times
    **dict.fromkeys(["year", "quarter", "month", "weekofyear", "day", "dayofyear", "dayofweek", "weekday", "dayname", "monthname", "last_day"],
                    [("date",), ("timestamp",)]),
    **dict.fromkeys(["hour", "minute", "second", "unix_seconds", "unix_millis", "unix_micros"], [("timestamp",)]),
    "date_part": [a([part], "timestamp") for part in ("YEAR", "quarter", "MONTH", "WEEK", "DAY", "DAYOFWEEK", "DAYOFWEEK_ISO", "DOY", "YEAROFWEEK", "HOUR",
                                                      "MINUTE")],
    "next_day": [a("date", [day]) for day in ("MO", "sun", "Thursday", "FRI")],
    **dict.fromkeys(["date_add", "date_sub"], [("date", "int:day"), a("timestamp", [1])]),
    "datediff": [("date", "date"), ("timestamp", "date")],
    "add_months": [("date", "int:month")],
    "months_between": [("timestamp", "timestamp"), ("date", "date"), a("timestamp", "timestamp", [False])],
    "timestampadd": [a([unit], "int:month", "timestamp") for unit in ("MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")],
    "timestampdiff": [a([unit], "timestamp", "timestamp") for unit in ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH",
                                                                       "QUARTER", "YEAR")],
    "date_trunc": [a([unit], "timestamp") for unit in ("YEAR", "quarter", "MON", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")],
    "trunc": [a("date", [unit]) for unit in ("YEAR", "QUARTER", "MM", "week")],
    "make_date": [("int:month", "int:month", "int:month"), a([2024], "int:month", "int:day"), a([2023], [2], "int:day")],
    "make_timestamp": [a([2024], "int:month", "int:month", "int:month", "int:month", [1.5]), a([2024], [2], [29], [23], [59], "double:second")],
    "unix_date": [("date",)],
    "date_from_unix_date": [("int:day",)],
    "timestamp_seconds": [("bigint:epoch",), ("double:second",), ("int",)],
    "timestamp_millis": [("bigint:epoch",), ("int",)],
    "timestamp_micros": [("bigint:epoch",), ("int",)],
    # patterns and zones
    "date_format": [a("timestamp", [p]) for p in ("yyyy-MM-dd HH:mm:ss", "dd.MM.yy", "EEE, d MMM yyyy", "EEEE MMMM D", "h:m a", "hh:mm:ss.SSS a",
                                                  "yyyyMMdd'T'HHmmss.SSSSSS", "'day' d", "y-M-d H:m:s", "S", "DDD")]
                   + [a("date", ["yyyy-MM-dd HH:mm"])],
    "to_timestamp": [("string:moment",), ("timestamp",), ("date",)]
                    + [a("string:stamp", [p]) for p in ("yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd", "dd/MM/yyyy", "yyyyMMdd", "yyyy-M-d H:m:s",
                                                        "yyyy-MM-dd'T'HH:mm:ss.SSS", "MM/dd/yyyy hh:mm a", "d MMM yyyy")],
    "to_date": [("string:moment",), ("timestamp",), a("string:stamp", ["yyyy-MM-dd"]), a("string:stamp", ["dd/MM/yyyy"]),
                a("string:stamp", ["yyyy-MM-dd HH:mm:ss"])],
    "unix_timestamp": [("string:stamp",), ("timestamp",), ("date",), a("string:stamp", ["yyyyMMdd"])],
    "from_unixtime": [("bigint:epoch",), a("bigint:epoch", ["yyyy/MM/dd"])],
    **dict.fromkeys(["from_utc_timestamp", "to_utc_timestamp"],
                    [a(pool, [zone]) for pool in ("timestamp:local", "timestamp") for zone in
                     ("Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "UTC", "+05:30", "-03:00", "Australia/Lord_Howe")]),
    # arrays
    "array": [("int", "bigint"), ("array<int>", "array<int>"), ("struct<a:int,b:string>", "struct<a:int,b:string>"), ("string", "string"), a("int", [None]), ("date",)],
    **dict.fromkeys(["size", "array_size", "array_compact", "array_distinct"], [("array<int>",), ("array<string>",), ("array<double>",), ("array<array<int>>",)]),
    **dict.fromkeys(["array_max", "array_min", "array_sort", "sort_array"], [("array<int>",), ("array<string>",), ("array<double>",)]),
    "reverse": [("string",), ("array<int>",), ("array<string>",)],
    **dict.fromkeys(["element_at", "get"], [("array<int>", "int:place"), ("array<string>", "int:place"), a("array<int>", [1])]),
    **dict.fromkeys(["array_contains", "array_position", "array_remove"],
                    [("array<int>", "int:place"), ("array<string>", "string:part"), ("array<double>", "double"), a("array<int>", [1]), ("array<int>", "bigint")]),
    **dict.fromkeys(["array_append", "array_prepend"], [("array<int>", "int"), ("array<string>", "string:part"), a("array<int>", [None]), ("array<array<int>>", "array<int>")]),
    **dict.fromkeys(["array_union", "array_intersect", "array_except", "arrays_overlap"],
                    [("array<int>", "array<int>"), ("array<string>", "array<string>"), ("array<int>", "array<bigint>"), ("array<double>", "array<double>")]),
    "array_join": [("array<string>", "string:part"), a("array<string>", [","], ["-"])],
    "array_repeat": [("int", "int:place"), ("string", "int:place"), a("array<int>", [2])],
    "slice": [("array<int>", "int:place", "int:place"), a("array<string>", [2], [1])],
    "flatten": [("array<array<int>>",)],
    "sequence": [("int:place", "int:place"), a([1], "int:month")],
    # structs, JSON, hashes
    "named_struct": [a(["x"], "int", ["y"], "string"), a(["x"], "array<int>")],
    "get_field": [a("struct<a:int,b:string>", ["b"]), a("struct<d:double,t:timestamp,l:array<int>>", ["l"])],
    "get_json_object": [a("string:json", [path]) for path in ("$.a", "$", "$[0]", "$.a.b[2]", "$.a.b", "$['b']", "$[1].a", "$.a.b[2].c")],
    "to_json": [("struct<a:int,b:string>",), ("struct<d:double,t:timestamp,l:array<int>>",), ("array<int>",), ("array<string>",), ("array<double>",)],
    **dict.fromkeys(["md5", "sha1", "crc32"], [("string",), ("binary",)]),
    "sha2": [a("string", [bits]) for bits in (0, 224, 256, 384, 512)] + [a("binary", [256])],
    "hash": [(kind,) for kind in ("boolean", "int", "bigint", "float", "double", "string", "binary", "date", "timestamp")]
            + [("string", "int"), ("int", "string", "double")],
}  # fmt: skip

CASTS: dict[str, list[str]] = {
    "string:number": ["int", "bigint", "float", "double"],
    "string:boolean": ["boolean"],
    "string:moment": ["date", "timestamp"],
    "string": ["binary"],
    "boolean": ["int", "bigint", "float", "double", "string"],
    "int": ["boolean", "bigint", "float", "double", "string", "timestamp"],
    "bigint": ["boolean", "int", "float", "double", "string", "timestamp"],
    "bigint:epoch": ["timestamp"],
    "float": ["boolean", "int", "bigint", "double", "string"],
    "double": ["boolean", "int", "bigint", "float"],
    "double:text": ["string", "timestamp"],
    "binary": ["string"],
    "date": ["timestamp", "string"],
    "timestamp": ["date", "int", "bigint", "float", "double", "string"],
    "array<int>": ["array<bigint>", "array<string>"],
    "array<string>": ["array<int>"],
    "array<double>": ["array<int>", "array<float>"],
    "struct<a:int,b:string>": ["struct<x:bigint,y:binary>"],
}

CASES = [Case(name, args) for name, listed in TABLE.items() for args in listed]
CASES += [Case(f"cast to {to}", (pool,)) for pool, targets in CASTS.items() for to in targets]
