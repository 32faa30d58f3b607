"""The paced sender: open loop, intended times from the schedule. It never waits for a result.

Batches that are overdue because a send took long go out together in the next send, with their intended times.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.common import arguments, percentile, say
from bench.data import RECORD, TICK_MS, Load, Records, records

Send = Callable[[int, int], None]
"""Sends the batches ``[first, end)``."""


def pace(load: Load, start_ms: int, every: int, send: Send) -> dict[str, float]:
    """Sends on schedule, ``every`` so many batches; gives figures on how well the schedule was kept."""
    period = TICK_MS / 1000
    cpu = time.process_time()
    late: list[float] = []
    own: list[float] = []
    """Lateness that a send still under way does not explain: only this is the sender's fault."""
    spent: list[float] = []
    sent = 0
    free = 0.0
    if time.time() > start_ms / 1000:
        raise RuntimeError("the sender was not ready at the start of the schedule")
    while sent < load.batches:
        now = time.time()
        due = min(load.batches, int((now - start_ms / 1000) / period + 1e-6) + 1) if now >= start_ms / 1000 else 0
        if due < load.batches:
            due -= due % every
        if due <= sent:
            following = min(sent + every - 1, load.batches - 1)
            time.sleep(max(0.0002, start_ms / 1000 + following * period - now))
            continue
        # The schedule of a sender that gathers batches is that of the last one in each send.
        lasts = [min(first + every, load.batches) - 1 for first in range(sent, due, every)]
        late += [now - start_ms / 1000 - last * period for last in lasts]
        own += [now - max(start_ms / 1000 + last * period, free) for last in lasts]
        send(sent, due)
        free = time.time()
        spent.append(free - now)
        sent = due
    return {
        "slip": percentile(own, 99) / load.seconds,
        "own_late": sum(seconds > period for seconds in own) / len(own),
        "late_p50": percentile(late, 50),
        "late_p99": percentile(late, 99),
        "late_max": max(late),
        "send_p50": percentile(spent, 50),
        "sends": len(spent),
        "cpu": time.process_time() - cpu,
    }


def push_sender(stream: Any, load: Load, sent: Records) -> Send:
    frame = sent.frame()

    def send(first: int, end: int) -> None:
        stream.push(frame.slice(first * load.batch, (end - first) * load.batch))

    return send


def socket_sender(connection: socket.socket, load: Load, sent: Records) -> Send:
    lines = memoryview(sent.lines())
    size = load.batch * (RECORD + 1)
    return lambda first, end: connection.sendall(lines[first * size : end * size])


def file_sender(folder: Path, load: Load, sent: Records) -> Send:
    """Each send is a file, renamed into the watched folder when it is complete."""
    lines = memoryview(sent.lines())
    size = load.batch * (RECORD + 1)

    def send(first: int, end: int) -> None:
        hidden = folder / f".{first:08}.making"
        hidden.write_bytes(lines[first * size : end * size])
        os.rename(hidden, folder / f"{first:08}.txt")

    return send


def main() -> None:
    """Says ``ready``, hears the start of the schedule as a line, says ``sent`` at the end."""
    given = arguments()
    load = Load(**given["load"])
    kind = given["how"]
    every = 1
    if kind == "push":
        from bench.latency_waterclock import declare

        stream = declare(given["store"], given["workload"])[1]
        stream.advance(0)  # opens the store now, not in the first send
        say("ready")
        start_ms = int(input())
        send = push_sender(stream, load, records(load, start_ms))
    elif kind == "socket":
        server = socket.create_server(("127.0.0.1", 0))
        say("ready", port=server.getsockname()[1])
        connection, _ = server.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        say("connected")
        start_ms = int(input())
        send = socket_sender(connection, load, records(load, start_ms))
    else:
        every = given["every"]
        say("ready")
        start_ms = int(input())
        send = file_sender(Path(given["folder"]), load, records(load, start_ms))
    say("sent", **pace(load, start_ms, every, send))
    if kind == "socket":
        input()  # the source must not see the end of its input before the results are out


if __name__ == "__main__":
    main()
