"""WordCount: every second, how often each word came in the last 30 seconds."""

import operator

from text import run

import waterclock as wc


def word_count(lines: wc.DStream) -> wc.DStream:
    words = lines.flat_map(word=wc.split("text", " "))
    return words.map(word="word", n=wc.lit(1)).reduce_by_window("30s", operator.add, operator.sub)


if __name__ == "__main__":
    run(word_count, "1s")
