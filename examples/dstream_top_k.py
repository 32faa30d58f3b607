"""TopKCount: the three most frequent words of the last 30 seconds, every 10 seconds. From the D-Streams paper."""

import operator

from dstream_data import main, sentences

import waterclock as wc


def top_k_count(lines: wc.DStream) -> wc.DStream:
    pairs = lines.flat_map(word=wc.split("text", " ")).map(word="word", n=wc.lit(1))
    return pairs.reduce_by_window("30s", operator.add, operator.sub).top_k(3)


if __name__ == "__main__":
    main(sentences, "10s", top_k_count)
