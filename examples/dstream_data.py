"""Made-up input for the D-Stream examples, and how they show their results."""

import tempfile
from collections.abc import Callable

import waterclock as wc

TEXTS = ["to be or not to be", "that is the question", "whether tis nobler", "to suffer", "or to take arms", "not me"]
PAGES = ["/", "/", "/news", "/", "/shop", "/news", "/", "/help"]
CLIENTS = [(0, "c1", "join"), (4, "c2", "join"), (9, "c1", "play"), (12, "c2", "exit"), (20, "c3", "join"),
           (26, "c1", "play"), (30, "c3", "play"), (41, "c3", "exit")]  # fmt: skip
SECOND = 1_000_000


def new_app() -> wc.App:
    return wc.App("dstreams", store=tempfile.mkdtemp(prefix="wc-dstreams-"))


def sentences(app: wc.App) -> wc.SourceStream:
    """A sentence every two seconds, for two minutes."""
    stream = app.stream("sentences", {"ts": int, "text": str}, time="ts")
    stream.push([{"ts": n * 2 * SECOND, "text": TEXTS[n % len(TEXTS)]} for n in range(60)])
    stream.end()
    return stream


def page_views(app: wc.App) -> wc.SourceStream:
    """Three views a second."""
    stream = app.stream("views", {"ts": int, "url": str, "user": str}, time="ts")
    rows = [(n * SECOND // 3, PAGES[n * n % len(PAGES)], f"u{n % 7}") for n in range(30)]
    stream.push([{"ts": ts, "url": url, "user": user} for ts, url, user in rows])
    stream.end()
    return stream


def client_events(app: wc.App) -> wc.SourceStream:
    """Clients of a video service that join, play and leave, or just go silent."""
    stream = app.stream("events", {"ts": int, "client": str, "kind": str}, time="ts")
    stream.push([{"ts": ts * SECOND, "client": client, "kind": kind} for ts, client, kind in CLIENTS])
    stream.end()
    return stream


def show(app: wc.App, result: wc.DStream, most: int = 12) -> None:
    """Runs the program on the desk and prints the first rows, with their interval in seconds."""
    result.into("result")
    frame = app.run(mode="offline").frame("result")
    for row in frame.sort("_vs", "_ve", *result.schema.names).head(most).iter_rows(named=True):
        life = f"[{row.pop('_vs') / SECOND:g}, {row.pop('_ve') / SECOND:g})"
        print(f"{life:<12}", *(f"{name}={value}" for name, value in row.items()))


def main(source: Callable[[wc.App], wc.Stream], interval: str, program: Callable[[wc.DStream], wc.DStream]) -> None:
    app = new_app()
    show(app, program(wc.dstream(source(app), interval)))
