"""Grep: how many lines of each second match a pattern."""

from text import run

import waterclock as wc


def grep(lines: wc.DStream) -> wc.DStream:
    return lines.filter(wc.col("text").contains("to be")).count()


if __name__ == "__main__":
    run(grep, "1s")
