"""TopKCount: every second, the three words that came most often in the last 30 seconds."""

from text import run
from word_count import word_count

import waterclock as wc


def top_k_count(lines: wc.DStream) -> wc.DStream:
    return word_count(lines).top_k(3)


if __name__ == "__main__":
    run(top_k_count, "1s")
