"""Numbers as text, as Java writes them."""

from __future__ import annotations

import polars as pl


def text_of_double(value: pl.Expr) -> pl.Expr:
    """With a decimal point from 0.001 to 10 million, else as ``1.0E7``; the fewest digits that tell the number."""
    size = value.abs()
    plain = size.cast(pl.String)
    sign = pl.when(value.cast(pl.String).str.starts_with("-")).then(pl.lit("-")).otherwise(pl.lit(""))
    mantissa = plain.str.extract(r"^([0-9.]+)", 1)
    power = plain.str.extract(r"e([+-]?[0-9]+)$", 1).cast(pl.Int32, strict=False).fill_null(0)
    whole = mantissa.str.extract(r"^([0-9]+)", 1)
    part = mantissa.str.extract(r"\.([0-9]+)$", 1).fill_null("")
    digits = pl.concat_str(whole, part).str.strip_chars_start("0")
    zeros = pl.concat_str(whole, part).str.len_chars().cast(pl.Int32) - digits.str.len_chars().cast(pl.Int32)
    exponent = whole.str.len_chars().cast(pl.Int32) - 1 - zeros + power
    rest = digits.str.slice(1).str.strip_chars_end("0")
    rest = pl.when(rest == "").then(pl.lit("0")).otherwise(rest)
    scientific = pl.concat_str(digits.str.slice(0, 1), pl.lit("."), rest, pl.lit("E"), exponent.cast(pl.String))
    positional = (size == 0) | ((size >= 1e-3) & (size < 1e7))
    finite = pl.concat_str(sign, pl.when(positional).then(plain).otherwise(scientific))
    infinite = pl.concat_str(sign, pl.lit("Infinity"))
    return pl.when(value.is_nan()).then(pl.lit("NaN")).when(value.is_infinite()).then(infinite).otherwise(finite)


def text_of_bits(value: pl.Expr) -> pl.Expr:
    """A bigint's bits as hexadecimal digits."""
    numerals = pl.lit("0123456789ABCDEF")
    places = [(value // 16**place) % 16 if place < 15 else (value // 16**14 // 16) % 16 for place in range(15, -1, -1)]
    digits = pl.concat_str(numerals.str.slice(place, 1) for place in places).str.strip_chars_start("0")
    return pl.when(value == 0).then(pl.lit("0")).otherwise(digits)
