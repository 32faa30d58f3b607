"""The words of each interval, counted: MapReduce over a D-Stream, as in the D-Streams paper."""

import operator

from dstream_data import main, sentences

import waterclock as wc


def word_count(lines: wc.DStream) -> wc.DStream:
    words = lines.flat_map(lambda line: line.text.split(" "), {"word": str})
    pairs = words.map(lambda word: (word, 1), {"word": str, "n": int})
    return pairs.reduce_by_key(operator.add)


if __name__ == "__main__":
    main(sentences, "10s", word_count)
