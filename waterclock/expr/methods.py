"""The functions that are used most, as methods of expressions. All functions are in ``waterclock.functions``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from waterclock.expr.nodes import Expr


class Methods:
    def _call(self, function: str, *args: object) -> Expr:
        raise NotImplementedError

    # numbers

    def round(self, digits: int = 0) -> Expr:
        """To so many decimal digits, halves away from zero."""
        return self._call("round", digits)

    def floor(self) -> Expr:
        """Down to a whole number."""
        return self._call("floor")

    def ceil(self) -> Expr:
        """Up to a whole number."""
        return self._call("ceil")

    def sqrt(self) -> Expr:
        """The square root."""
        return self._call("sqrt")

    def is_nan(self) -> Expr:
        """Whether it is NaN."""
        return self._call("isnan")

    def eq_null_safe(self, other: object) -> Expr:
        """Whether they are equal, or both null."""
        return self._call("eq_null_safe", other)

    # strings

    def initcap(self) -> Expr:
        """Each word with a capital."""
        return self._call("initcap")

    def ltrim(self) -> Expr:
        """Without spaces at the start."""
        return self._call("ltrim")

    def rtrim(self) -> Expr:
        """Without spaces at the end."""
        return self._call("rtrim")

    def substring(self, place: object, count: object = 2**31 - 1) -> Expr:
        """A part of the text; places count from 1, from the end if negative."""
        return self._call("substring", place, count)

    def replace(self, search: object, value: object = "") -> Expr:
        """Every occurrence replaced."""
        return self._call("replace", search, value)

    def lpad(self, count: object, pad: object = " ") -> Expr:
        """Filled from the left, or cut, to a length."""
        return self._call("lpad", count, pad)

    def rpad(self, count: object, pad: object = " ") -> Expr:
        """Filled from the right, or cut, to a length."""
        return self._call("rpad", count, pad)

    def like(self, pattern: str) -> Expr:
        """Whether the text is so: % stands for any characters, _ for one."""
        return self._call("like", pattern)

    def ilike(self, pattern: str) -> Expr:
        """As like, whatever the case."""
        return self._call("ilike", pattern)

    def rlike(self, pattern: str) -> Expr:
        """Whether a regular expression is found in the text."""
        return self._call("rlike", pattern)

    def regexp_extract(self, pattern: str, group: int = 1) -> Expr:
        """What a group of the first match took; empty if nothing matches."""
        return self._call("regexp_extract", pattern, group)

    def regexp_replace(self, pattern: str, value: str) -> Expr:
        """Every match replaced; $1 is what the first group took."""
        return self._call("regexp_replace", pattern, value)

    def get_json_object(self, path: str) -> Expr:
        """What a path such as $.a.b[0] leads to in a text of JSON."""
        return self._call("get_json_object", path)

    # dates and times

    def year(self) -> Expr:
        """The year."""
        return self._call("year")

    def month(self) -> Expr:
        """The month, from 1."""
        return self._call("month")

    def day(self) -> Expr:
        """The day of the month."""
        return self._call("day")

    def hour(self) -> Expr:
        """The hour, in UTC."""
        return self._call("hour")

    def minute(self) -> Expr:
        """The minute."""
        return self._call("minute")

    def second(self) -> Expr:
        """The whole second."""
        return self._call("second")

    def date_format(self, pattern: str) -> Expr:
        """As text, by a pattern such as yyyy-MM-dd."""
        return self._call("date_format", pattern)

    def from_utc_timestamp(self, zone: str) -> Expr:
        """What the clocks of a zone show then."""
        return self._call("from_utc_timestamp", zone)

    # arrays and structs

    def size(self) -> Expr:
        """How many elements; -1 for null."""
        return self._call("size")

    def element_at(self, place: object) -> Expr:
        """The element at a place from 1, from the end if negative; null if there is none."""
        return self._call("element_at", place)

    def array_contains(self, value: object) -> Expr:
        """Whether an element is the value."""
        return self._call("array_contains", value)

    def field(self, name: str) -> Expr:
        """A field of a struct."""
        return self._call("get_field", name)
