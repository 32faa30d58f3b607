"""Java's regular expressions for the engine of Polars.

Both take the leftmost match and the first alternative. Where a sign means something else to Java, it is spelled out.
What the engine does not have (it never goes back over a text) is refused when the query is written.
"""

from __future__ import annotations

import re
from functools import lru_cache

import polars as pl

from waterclock.errors import ConfigError

_CLASSES = {
    "d": "0-9", "w": "0-9A-Za-z_", "s": r" \t\n\x0B\f\r", "h": r" \xA0\u{1680}\u{180e}\u{2000}-\u{200a}\u{202f}\u{205f}\u{3000}",
    "v": r"\n\x0B\f\r\x85\u{2028}\u{2029}",
}  # fmt: skip
_LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
_SAME = set("tnrfa")
_FIX = (
    "Write it without lookaround, backreferences and possessive quantifiers; a text as it is goes between \\Q and \\E."
)


@lru_cache(maxsize=1024)
def translated(pattern: str) -> str:
    """The same pattern in the syntax of Polars."""
    made = "".join(_Reader(pattern).parts())
    try:
        pl.select(pl.lit("").str.contains(made))
    except pl.exceptions.ComputeError as error:
        reason = str(error).splitlines()[-1].removeprefix("error: ")
        raise _refused(pattern, reason) from None
    return made


def _refused(pattern: str, reason: str) -> ConfigError:
    return ConfigError("EXPR.BAD_CONSTANT", function="A regular expression", value=pattern, reason=reason, fix=_FIX)


class _Reader:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._dot_all = False

    def parts(self) -> list[str]:
        found = []
        while self._at < len(self._pattern):
            found.append(self._part())
        return found

    def _next(self) -> str:
        self._at += 1
        return self._pattern[self._at - 1] if self._at <= len(self._pattern) else ""

    def _rest(self) -> str:
        return self._pattern[self._at :]

    def _part(self) -> str:
        sign = self._next()
        if sign == "\\":
            return self._escape(inside=False)
        if sign == "[":
            return self._class()
        if sign == ".":
            return "(?s:.)" if self._dot_all else f"[^{_LINE_ENDS}]"
        if sign == "$":
            if self._rest():
                raise _refused(self._pattern, "$ is not at the end, where it stands for the end of the text")
            return "$"
        if sign == "(":
            return self._group()
        if sign in "*+?}" and self._rest()[:1] == "+":
            raise _refused(self._pattern, "possessive quantifiers are not supported")
        return sign

    def _group(self) -> str:
        rest = self._rest()
        if re.match(r"\?(=|!|<=|<!|>)", rest):
            raise _refused(self._pattern, "lookaround and atomic groups are not supported")
        if flags := re.match(r"\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])", rest):
            if set(flags[1]) - set("isx") or (flags[2] and set(flags[2]) - set("isx")) or "x" in flags[1]:
                raise _refused(self._pattern, "of the flags only i and s are supported")
            if flags[3] == ")" and "s" in flags[1] and self._at == 1:
                self._dot_all = True
            elif "s" in flags[1] or (flags[2] and "s" in flags[2]):
                raise _refused(self._pattern, "(?s) is supported at the beginning only")
        return "("

    def _escape(self, inside: bool) -> str:
        sign = self._next()
        if sign == "Q":
            end = self._rest().find("\\E")
            quoted = self._rest() if end < 0 else self._rest()[:end]
            self._at += len(quoted) + (2 if end >= 0 else 0)
            return _literal(quoted)
        if sign == "":
            raise _refused(self._pattern, "it ends with a backslash")
        if sign in _CLASSES or sign.lower() in _CLASSES:
            listed = _CLASSES[sign.lower()]
            if sign in _CLASSES:
                return listed if inside else f"[{listed}]"
            return f"[^{listed}]"
        if sign == "u" and re.match(r"[0-9A-Fa-f]{4}", self._rest()):
            return f"\\x{{{self._take(4)}}}"
        if sign == "x" and re.match(r"[0-9A-Fa-f]{2}", self._rest()):
            return f"\\x{{{self._take(2)}}}"
        if sign in _SAME:
            return "\\" + sign
        if sign in ("A", "z") and not inside:
            return "\\" + sign
        if sign == "b" and not inside:
            return r"(?-u:\b)"
        if sign.isalnum():
            raise _refused(self._pattern, f"\\{sign} is not supported")
        return _literal(sign)

    def _take(self, count: int) -> str:
        taken = self._rest()[:count]
        self._at += count
        return taken

    def _class(self) -> str:
        """A bracket expression, to its end."""
        found = "["
        if self._rest()[:1] == "^":
            found += self._next()
        first = True
        while (sign := self._next()) != "]" or first:
            first = False
            if sign == "":
                raise _refused(self._pattern, "a [ is not closed")
            if sign == "[" or (sign == "&" and self._rest()[:1] == "&"):
                raise _refused(self._pattern, "classes inside classes are not supported")
            if sign == "\\":
                found += self._escape(inside=True)
            else:
                found += sign if sign in "-^" or sign.isalnum() else _literal(sign)
        return found + "]"


def _literal(text: str) -> str:
    return "".join(f"\\x{{{ord(sign):x}}}" if not sign.isalnum() or not sign.isascii() else sign for sign in text)
