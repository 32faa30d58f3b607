"""Strings. Positions and lengths count characters, from 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from waterclock.expr.functions.base import ByType, Resolved, define, eg, strictly, unify
from waterclock.expr.functions.numerals import text_of_bits
from waterclock.schema import element_type


def length(a: pl.Expr) -> pl.Expr:
    return a.str.len_chars().cast(pl.Int64)


def substring(a: pl.Expr, place: pl.Expr, count: pl.Expr) -> pl.Expr:
    """From a place that counts from the end if negative; what lies before the start counts, but gives nothing."""
    place, count = place.cast(pl.Int64), count.cast(pl.Int64)
    start = pl.when(place > 0).then(place - 1).when(place < 0).then(length(a) + place).otherwise(0)
    first = pl.max_horizontal(start, pl.lit(0, dtype=pl.Int64))
    return a.str.slice(first, pl.max_horizontal(start + count - first, pl.lit(0, dtype=pl.Int64)))


def repeated(a: pl.Expr, count: pl.Expr) -> pl.Expr:
    times = pl.max_horizontal(count.cast(pl.Int64), pl.lit(0, dtype=pl.Int64))
    return a.repeat_by(times).list.join("")


def _pad(left: bool) -> Callable[..., pl.Expr]:
    def form(a: pl.Expr, count: pl.Expr, pad: pl.Expr) -> pl.Expr:
        wanted = pl.max_horizontal(count.cast(pl.Int64), pl.lit(0, dtype=pl.Int64))
        missing = pl.max_horizontal(wanted - length(a), pl.lit(0, dtype=pl.Int64))
        times = pl.when(pad == "").then(0).otherwise(missing // pl.max_horizontal(length(pad), 1) + 1)
        filling = repeated(pad, times).str.slice(0, missing)
        kept = a.str.slice(0, wanted)
        return pl.concat_str(filling, kept) if left else pl.concat_str(kept, filling)

    return strictly(form)


def reversed_text(a: pl.Expr) -> pl.Expr:
    return a.str.split("").list.reverse().list.join("")


def _reverse(kinds: Sequence[str], result: str) -> Callable[..., pl.Expr]:
    return reversed_text if result == "string" else lambda a: a.list.reverse()


def _parts(a: pl.Expr, separator: pl.Expr) -> pl.Expr:
    """The parts between separators. Polars does not broadcast a single text over a column of separators."""
    return pl.concat_str([a, separator.str.slice(0, 0)]).str.split(separator)


def _replace(a: pl.Expr, search: pl.Expr, value: pl.Expr) -> pl.Expr:
    return pl.when(search == "").then(a).otherwise(_parts(a, search).list.join(value))


def _translate(a: pl.Expr, old: str, new: str) -> pl.Expr:
    pairs = {sign: new[place : place + 1] for place, sign in reversed(list(enumerate(old)))}
    return a.str.replace_many(list(pairs), list(pairs.values())) if pairs else a


def _place(a: pl.Expr, part: pl.Expr) -> pl.Expr:
    """Where the part starts, 0 if it is nowhere."""
    before = length(_parts(a, part).list.get(0))
    return pl.when(part == "").then(1).when(a.str.contains(part, literal=True)).then(before + 1).otherwise(0)


def _place_from(part: pl.Expr, a: pl.Expr, start: pl.Expr) -> pl.Expr:
    rest = substring(a, start, pl.lit(2**31 - 1))
    found = _place(rest, part)
    place = pl.when(part == "").then(1).when(found == 0).then(0).otherwise(found + start - 1)
    known = pl.when(start >= 1).then(place).otherwise(0)
    return pl.when(start.is_null() | (a.is_not_null() & part.is_not_null())).then(known)


def _split_part(a: pl.Expr, separator: pl.Expr, place: pl.Expr) -> pl.Expr:
    parts = pl.when(separator == "").then(pl.concat_list(a)).otherwise(_parts(a, separator))
    index = pl.when(place > 0).then(place - 1).when(place < 0).then(place)
    found = parts.list.get(index, null_on_oob=True).fill_null("")
    return pl.when(index.is_not_null()).then(found)


def _substring_index(a: pl.Expr, separator: pl.Expr, count: pl.Expr) -> pl.Expr:
    parts = _parts(a, separator)
    ends = pl.when(count >= 0).then(parts.list.head(count.abs())).otherwise(parts.list.tail(count.abs()))
    return pl.when((separator == "") | (count == 0)).then(pl.lit("")).otherwise(ends.list.join(separator))


def _initcap(a: pl.Expr) -> pl.Expr:
    word = pl.element()
    large = word.str.slice(0, 1).str.to_uppercase()  # two letters for some
    capital = pl.concat_str(large.str.slice(0, 1), large.str.slice(1).str.to_lowercase(), word.str.slice(1))
    return a.str.to_lowercase().str.split(" ").list.eval(capital).list.join(" ")


def _code(a: pl.Expr) -> pl.Expr:
    """The number of the first character, from its one to four bytes."""
    raw = pl.concat_str(a.str.slice(0, 1), pl.lit("\0\0\0")).cast(pl.Binary)
    first, second, third, fourth = (
        raw.bin.slice(n, 1).bin.reinterpret(dtype=pl.UInt8).cast(pl.Int32) for n in range(4)
    )
    two = (first - 0xC0) * 64 + (second - 0x80)
    three = (first - 0xE0) * 4096 + (second - 0x80) * 64 + (third - 0x80)
    four = (first - 0xF0) * 262144 + (second - 0x80) * 4096 + (third - 0x80) * 64 + (fourth - 0x80)
    return pl.when(first < 0x80).then(first).when(first < 0xE0).then(two).when(first < 0xF0).then(three).otherwise(four)


def _overlay(a: pl.Expr, value: pl.Expr, place: pl.Expr, count: pl.Expr) -> pl.Expr:
    skipped = pl.when(count >= 0).then(count.cast(pl.Int64)).otherwise(length(value))
    place = place.cast(pl.Int64)
    most = pl.lit(2**31 - 1)
    head, tail = substring(a, pl.lit(1), place - 1), substring(a, place + skipped, most)
    return pl.concat_str(head, value, tail)


def _find_in_set(a: pl.Expr, listed: pl.Expr) -> pl.Expr:
    framed, sought = pl.concat_str(pl.lit(","), listed, pl.lit(",")), pl.concat_str(pl.lit(","), a, pl.lit(","))
    before = _parts(framed, sought).list.get(0).str.count_matches(",", literal=True).cast(pl.Int32)
    absent = a.str.contains(",", literal=True) | ~framed.str.contains(sought, literal=True)
    return pl.when(absent).then(0).otherwise(before + 1)


def _concat(kinds: Sequence[str], result: str) -> Callable[..., pl.Expr]:
    if not kinds:
        return lambda: pl.lit("")
    return (lambda *a: pl.concat_str(list(a))) if result == "string" else lambda *a: pl.concat_list(list(a))


def _joined(separator: pl.Expr, *parts: pl.Expr) -> pl.Expr:
    if not parts:
        return separator.str.slice(0, 0)
    whole = pl.concat_list([part.fill_null(pl.lit(None, dtype=pl.String)) for part in parts])
    return whole.list.drop_nulls().list.join(separator)


def _elt(place: pl.Expr, *values: pl.Expr) -> pl.Expr:
    found = pl.lit(None, dtype=pl.String)
    for number, value in enumerate(values, 1):
        found = pl.when(place == number).then(value).otherwise(found)
    return found


def _hex(kinds: Sequence[str], result: str) -> Callable[..., pl.Expr]:
    if kinds[0] in ("int", "bigint"):
        return lambda a: text_of_bits(a.cast(pl.Int64))
    return lambda a: a.cast(pl.Binary).bin.encode("hex").str.to_uppercase()


_IN_HEX = ("int", "bigint", "string", "binary", "null")


def _unhex(a: pl.Expr) -> pl.Expr:
    even = pl.when(a.str.len_chars() % 2 == 1).then(pl.concat_str(pl.lit("0"), a)).otherwise(a)
    return pl.when(even.str.contains("^[0-9A-Fa-f]*$")).then(even).str.to_lowercase().str.decode("hex", strict=False)


def _url_encode(a: pl.Expr) -> pl.Expr:
    sign = pl.element()
    escaped = sign.cast(pl.Binary).bin.encode("hex").str.to_uppercase().str.replace_all("(..)", "%$1")
    plain = pl.when(sign.str.contains(r"^[0-9A-Za-z.*_-]$")).then(sign)
    return a.str.split("").list.eval(plain.when(sign == " ").then(pl.lit("+")).otherwise(escaped)).list.join("")


def _mask(a: pl.Expr, upper: str, lower: str, digit: str) -> pl.Expr:
    sign = pl.element()
    capital = pl.when(sign.str.contains(r"^\p{Uppercase}$")).then(pl.lit(upper))
    kept = capital.when(sign.str.contains(r"^\p{Lowercase}$")).then(pl.lit(lower))
    return (
        a.str.split("")
        .list.eval(kept.when(sign.str.contains(r"^\p{Nd}$")).then(pl.lit(digit)).otherwise(sign))
        .list.join("")
    )


def _texts_or_arrays(types: Sequence[str], values: Sequence[object]) -> Resolved | None:
    found = unify(["T"] * len(types), types, "T")
    return found if found and (found[1] in ("string", "null") or element_type(found[1])) else None


def _bits(a: pl.Expr) -> pl.Expr:
    digits = {f"{n:X}": f"{n:04b}" for n in range(16)}
    bits = text_of_bits(a).str.replace_many(list(digits), list(digits.values())).str.strip_chars_start("0")
    return pl.when(a == 0).then(pl.lit("0")).otherwise(bits)


def _unbase64(a: pl.Expr) -> pl.Expr:
    padded = pl.concat_str(a, pl.lit("===")).str.slice(0, (length(a) + 3) // 4 * 4)
    return padded.str.decode("base64", strict=False)


TABLE = [
    define("lower(text string) string", "In lower case.", lambda a: a.str.to_lowercase(), eg("ÄB", gives="äb"), aliases=("lcase",)),
    define("upper(text string) string", "In upper case.", lambda a: a.str.to_uppercase(), eg("äb", gives="ÄB"), aliases=("ucase",)),
    define("initcap(text string) string", "Each word with a capital, the rest in lower case.", _initcap, eg("waTer clock", gives="Water Clock")),
    define("trim(text string) string", "Without spaces at both ends.", lambda a: a.str.strip_chars(" "), eg(" a ", gives="a")),
    define("ltrim(text string) string", "Without spaces at the start.", lambda a: a.str.strip_chars_start(" "), eg(" a ", gives="a ")),
    define("rtrim(text string) string", "Without spaces at the end.", lambda a: a.str.strip_chars_end(" "), eg(" a ", gives=" a")),
    define("btrim(text string, signs const string = ' ') string", "Without any of the signs at both ends.",
           lambda a, signs: a.str.strip_chars(signs) if signs else a, eg("xyaxy", "xy", gives="a")),
    define("length(text string) int", "How many characters.", length, eg("日本", gives=2), aliases=("char_length", "character_length", "len")),
    define("octet_length(text binary) int", "How many bytes.", lambda a: a.bin.size(), eg("日本", gives=6)),
    define("bit_length(text binary) int", "How many bits.", lambda a: a.bin.size() * 8, eg("ab", gives=16)),
    define("contains(text string, part string) boolean", "Whether the part is in the text.", lambda a, b: a.str.contains(b, literal=True),
           eg("waterclock", "clock", gives=True)),
    define("startswith(text string, part string) boolean", "Whether the text starts so.", lambda a, b: a.str.starts_with(b),
           eg("waterclock", "water", gives=True)),
    define("endswith(text string, part string) boolean", "Whether the text ends so.", lambda a, b: a.str.ends_with(b),
           eg("waterclock", "clock", gives=True)),
    define("concat(parts T...) T", "The texts, or arrays, one behind the other; null if one is null.", ByType(_concat), eg("a", "b", gives="ab"),
           resolver=_texts_or_arrays),
    define("concat_ws(separator string, parts string...) string", "The texts that are not null, with a separator between them.", _joined,
           eg("-", "a", None, "b", gives="a-b")),
    define("substring(text string, place int, count int = 2147483647) string", "A part of the text; a negative place counts from the end.",
           strictly(substring), eg("waterclock", 6, 3, gives="clo"), aliases=("substr",)),
    define("left(text string, count int) string", "The first characters.", strictly(lambda a, n: substring(a, pl.lit(1), n)), eg("water", 2, gives="wa")),
    define("right(text string, count int) string", "The last characters.",
           strictly(lambda a, n: pl.when(n <= 0).then(pl.lit("")).otherwise(substring(a, -n.cast(pl.Int64), pl.lit(2**31 - 1)))),
           eg("water", 2, gives="er")),
    define("lpad(text string, count int, pad string = ' ') string", "Filled from the left, or cut, to a length.", _pad(True),
           eg("7", 3, "0", gives="007")),
    define("rpad(text string, count int, pad string = ' ') string", "Filled from the right, or cut, to a length.", _pad(False),
           eg("7", 3, "0", gives="700")),
    define("repeat(text string, count int) string", "The text so many times.", strictly(repeated), eg("ab", 2, gives="abab")),
    define("space(count int) string", "So many spaces.", strictly(lambda n: repeated(pl.lit(" "), n)), eg(2, gives="  ")),
    define("reverse(value T) T", "The characters, or the elements of an array, backwards.", ByType(_reverse), eg("abc", gives="cba"),
           resolver=_texts_or_arrays),
    define("replace(text string, search string, value string = '') string", "Every occurrence replaced.", _replace,
           eg("a-b-c", "-", "+", gives="a+b+c")),
    define("translate(text string, old const string, new const string) string", "Each character of one list as that of the other; left out if there is none.",
           _translate, eg("abc", "ac", "x", gives="xb")),
    define("overlay(text string, value string, place int, count int = -1) string", "A part replaced, as long as the value if not said otherwise.",
           strictly(_overlay), eg("waterclock", "CLOCK", 6, gives="waterCLOCK")),
    define("instr(text string, part string) int", "Where the part starts, 0 if it is nowhere.", strictly(_place), eg("waterclock", "clock", gives=6)),
    define("locate(part string, text string, start int = 1) int", "Where the part starts at or behind a place, 0 if it is nowhere.", _place_from,
           eg("c", "clock", 2, gives=4), aliases=("position",)),
    define("find_in_set(text string, listed string) int", "The number of the text in a list with commas, 0 if it is not there.", _find_in_set,
           eg("b", "a,b", gives=2)),
    define("split_part(text string, separator string, place int) string", "One of the parts between separators, from the end if negative.",
           strictly(_split_part), eg("a.b.c", ".", 2, gives="b"), lambda a, b, n: f"split_part({a}, {b}, nullif({n}, 0))"),
    define("substring_index(text string, separator string, count int) string",
           "What stands before so many separators, or behind them, counted from the end, if negative.", strictly(_substring_index),
           eg("a.b.c", ".", 2, gives="a.b")),
    define("elt(place int, values string...) string", "The value at a place; null if there is none.", _elt, eg(2, "a", "b", gives="b")),
    define("ascii(text string) int", "The number of the first character, 0 if there is none.",
           lambda a: pl.when(a == "").then(0).otherwise(_code(a)), eg("a", gives=97)),
    define("chr(code bigint) string", "The character with a number from 0 to 255, taken modulo 256; empty if negative.",
           lambda n: pl.when(n < 0).then(pl.lit("")).otherwise(pl.lit("".join(map(chr, range(256)))).str.slice(n % 256, 1)),
           eg(65, gives="A"), aliases=("char",)),
    define("mask(text string, upper const string = 'X', lower const string = 'x', digit const string = 'n') string",
           "Letters and digits made unreadable.", _mask, eg("Ab-12", gives="Xx-nn")),
    define("hex(value any) string", "The bits of an integer, or the bytes of a text, in hexadecimal digits.", ByType(_hex), eg("ab", gives="6162"),
           resolver=lambda types, values: unify(["any"], types, "string") if types[0] in _IN_HEX else None),
    define("unhex(text string) binary", "Bytes from hexadecimal digits; null if they are none.", _unhex, eg("6162", gives=b"ab")),
    define("bin(value bigint) string", "The bits of an integer.", _bits, eg(5, gives="101")),
    define("base64(value binary) string", "Bytes as text of 64 signs.", lambda a: a.bin.encode("base64"), eg(b"ab", gives="YWI=")),
    define("unbase64(text string) binary", "Bytes from text of 64 signs.", _unbase64, eg("YWI=", gives=b"ab")),
    define("url_encode(text string) string", "As it may stand in an address.", _url_encode, eg("a b", gives="a+b")),
]  # fmt: skip
