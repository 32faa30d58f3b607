"""Words of the last 30 seconds, counted anew every 5 seconds, with and without the inverse: vectorised throughout."""

import operator

from dstream_data import main, sentences

import waterclock as wc


def pairs(lines: wc.DStream) -> wc.DStream:
    return lines.flat_map(word=wc.split("text", " ")).map(word="word", n=wc.lit(1))


def sliding_count(lines: wc.DStream) -> wc.DStream:
    return pairs(lines).reduce_by_window("30s", operator.add, operator.sub)


def sliding_count_without_inverse(lines: wc.DStream) -> wc.DStream:
    return pairs(lines).reduce_by_window("30s", operator.add)


if __name__ == "__main__":
    main(sentences, "5s", sliding_count)
