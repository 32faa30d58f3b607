"""A running count of page views by URL: the first program of the D-Streams paper."""

import operator

from dstream_data import main, page_views

import waterclock as wc


def view_count(views: wc.DStream) -> wc.DStream:
    ones = views.map(lambda event: (event.url, 1), {"url": str, "n": int})
    return ones.running_reduce(operator.add)


if __name__ == "__main__":
    main(page_views, "1s", view_count)
