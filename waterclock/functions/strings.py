"""Strings. Positions and lengths count characters, from 1.

Written by scripts/functions.py from the table in waterclock/expr/functions.
"""

from __future__ import annotations

from waterclock.expr.nodes import Expr, call


def lower(text: object) -> Expr:
    """In lower case.

    Example: ``lower('ÄB') = 'äb'``
    """
    return call("lower", text)


def upper(text: object) -> Expr:
    """In upper case.

    Example: ``upper('äb') = 'ÄB'``
    """
    return call("upper", text)


def initcap(text: object) -> Expr:
    """Each word with a capital, the rest in lower case.

    Example: ``initcap('waTer clock') = 'Water Clock'``
    """
    return call("initcap", text)


def trim(text: object) -> Expr:
    """Without spaces at both ends.

    Example: ``trim(' a ') = 'a'``
    """
    return call("trim", text)


def ltrim(text: object) -> Expr:
    """Without spaces at the start.

    Example: ``ltrim(' a ') = 'a '``
    """
    return call("ltrim", text)


def rtrim(text: object) -> Expr:
    """Without spaces at the end.

    Example: ``rtrim(' a ') = ' a'``
    """
    return call("rtrim", text)


def btrim(text: object, signs: str = " ") -> Expr:
    """Without any of the signs at both ends.

    Example: ``btrim('xyaxy', 'xy') = 'a'``
    """
    return call("btrim", text, signs)


def length(text: object) -> Expr:
    """How many characters.

    Example: ``length('日本') = 2``
    """
    return call("length", text)


def octet_length(text: object) -> Expr:
    """How many bytes.

    Example: ``octet_length('日本') = 6``
    """
    return call("octet_length", text)


def bit_length(text: object) -> Expr:
    """How many bits.

    Example: ``bit_length('ab') = 16``
    """
    return call("bit_length", text)


def contains(text: object, part: object) -> Expr:
    """Whether the part is in the text.

    Example: ``contains('waterclock', 'clock') = true``
    """
    return call("contains", text, part)


def startswith(text: object, part: object) -> Expr:
    """Whether the text starts so.

    Example: ``startswith('waterclock', 'water') = true``
    """
    return call("startswith", text, part)


def endswith(text: object, part: object) -> Expr:
    """Whether the text ends so.

    Example: ``endswith('waterclock', 'clock') = true``
    """
    return call("endswith", text, part)


def concat(*parts: object) -> Expr:
    """The texts, or arrays, one behind the other; null if one is null.

    Example: ``concat('a', 'b') = 'ab'``
    """
    return call("concat", *parts)


def concat_ws(separator: object, *parts: object) -> Expr:
    """The texts that are not null, with a separator between them.

    Example: ``concat_ws('-', 'a', NULL, 'b') = 'a-b'``
    """
    return call("concat_ws", separator, *parts)


def substring(text: object, place: object, count: object = 2147483647) -> Expr:
    """A part of the text; a negative place counts from the end.

    Example: ``substring('waterclock', 6, 3) = 'clo'``
    """
    return call("substring", text, place, count)


def left(text: object, count: object) -> Expr:
    """The first characters.

    Example: ``left('water', 2) = 'wa'``
    """
    return call("left", text, count)


def right(text: object, count: object) -> Expr:
    """The last characters.

    Example: ``right('water', 2) = 'er'``
    """
    return call("right", text, count)


def lpad(text: object, count: object, pad: object = " ") -> Expr:
    """Filled from the left, or cut, to a length.

    Example: ``lpad('7', 3, '0') = '007'``
    """
    return call("lpad", text, count, pad)


def rpad(text: object, count: object, pad: object = " ") -> Expr:
    """Filled from the right, or cut, to a length.

    Example: ``rpad('7', 3, '0') = '700'``
    """
    return call("rpad", text, count, pad)


def repeat(text: object, count: object) -> Expr:
    """The text so many times.

    Example: ``repeat('ab', 2) = 'abab'``
    """
    return call("repeat", text, count)


def space(count: object) -> Expr:
    """So many spaces.

    Example: ``space(2) = '  '``
    """
    return call("space", count)


def reverse(value: object) -> Expr:
    """The characters, or the elements of an array, backwards.

    Example: ``reverse('abc') = 'cba'``
    """
    return call("reverse", value)


def replace(text: object, search: object, value: object = "") -> Expr:
    """Every occurrence replaced.

    Example: ``replace('a-b-c', '-', '+') = 'a+b+c'``
    """
    return call("replace", text, search, value)


def translate(text: object, old: str, new: str) -> Expr:
    """Each character of one list as that of the other; left out if there is none.

    Example: ``translate('abc', 'ac', 'x') = 'xb'``
    """
    return call("translate", text, old, new)


def overlay(text: object, value: object, place: object, count: object = -1) -> Expr:
    """A part replaced, as long as the value if not said otherwise.

    Example: ``overlay('waterclock', 'CLOCK', 6) = 'waterCLOCK'``
    """
    return call("overlay", text, value, place, count)


def instr(text: object, part: object) -> Expr:
    """Where the part starts, 0 if it is nowhere.

    Example: ``instr('waterclock', 'clock') = 6``
    """
    return call("instr", text, part)


def locate(part: object, text: object, start: object = 1) -> Expr:
    """Where the part starts at or behind a place, 0 if it is nowhere.

    Example: ``locate('c', 'clock', 2) = 4``
    """
    return call("locate", part, text, start)


def find_in_set(text: object, listed: object) -> Expr:
    """The number of the text in a list with commas, 0 if it is not there.

    Example: ``find_in_set('b', 'a,b') = 2``
    """
    return call("find_in_set", text, listed)


def split_part(text: object, separator: object, place: object) -> Expr:
    """One of the parts between separators, from the end if negative.

    Example: ``split_part('a.b.c', '.', 2) = 'b'``
    """
    return call("split_part", text, separator, place)


def substring_index(text: object, separator: object, count: object) -> Expr:
    """What stands before so many separators, or behind them, counted from the end, if negative.

    Example: ``substring_index('a.b.c', '.', 2) = 'a.b'``
    """
    return call("substring_index", text, separator, count)


def elt(place: object, *values: object) -> Expr:
    """The value at a place; null if there is none.

    Example: ``elt(2, 'a', 'b') = 'b'``
    """
    return call("elt", place, *values)


def ascii(text: object) -> Expr:
    """The number of the first character, 0 if there is none.

    Example: ``ascii('a') = 97``
    """
    return call("ascii", text)


def chr(code: object) -> Expr:
    """The character with a number from 0 to 255, taken modulo 256; empty if negative.

    Example: ``chr(65) = 'A'``
    """
    return call("chr", code)


def mask(text: object, upper: str = "X", lower: str = "x", digit: str = "n") -> Expr:
    """Letters and digits made unreadable.

    Example: ``mask('Ab-12') = 'Xx-nn'``
    """
    return call("mask", text, upper, lower, digit)


def hex(value: object) -> Expr:
    """The bits of an integer, or the bytes of a text, in hexadecimal digits.

    Example: ``hex('ab') = '6162'``
    """
    return call("hex", value)


def unhex(text: object) -> Expr:
    """Bytes from hexadecimal digits; null if they are none.

    Example: ``unhex('6162') = X'6162'``
    """
    return call("unhex", text)


def bin(value: object) -> Expr:
    """The bits of an integer.

    Example: ``bin(5) = '101'``
    """
    return call("bin", value)


def base64(value: object) -> Expr:
    """Bytes as text of 64 signs.

    Example: ``base64(X'6162') = 'YWI='``
    """
    return call("base64", value)


def unbase64(text: object) -> Expr:
    """Bytes from text of 64 signs.

    Example: ``unbase64('YWI=') = X'6162'``
    """
    return call("unbase64", text)


def url_encode(text: object) -> Expr:
    """As it may stand in an address.

    Example: ``url_encode('a b') = 'a+b'``
    """
    return call("url_encode", text)


lcase = lower
ucase = upper
char_length = length
character_length = length
len = length
substr = substring
position = locate
char = chr
