"""Grep: how many lines of each interval match a pattern. From the evaluation of the D-Streams paper."""

from dstream_data import main, sentences

import waterclock as wc


def grep(lines: wc.DStream) -> wc.DStream:
    return lines.filter(wc.col("text").contains("to be")).count()


if __name__ == "__main__":
    main(sentences, "30s", grep)
