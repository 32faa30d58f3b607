"""Where Polars does not give what Spark gives: why, and for which arguments of which function. There are no others."""

from __future__ import annotations

DIFFERENCES: dict[str, list[tuple[str, str]]] = {
    "Java tells the least doubles with two digits where one does.": [("cast to string(double:text)", "(5e-324,)")],
    "Java replaces nothing also between the halves of a character beyond 16 bits.": [("regexp_replace(string, 'x*', '-')", "('😀e\u0301',)")],
    "The JSON text null itself is null, whose path is $.": [("get_json_object(string:json, '$')", "('null',)")],
}  # fmt: skip
