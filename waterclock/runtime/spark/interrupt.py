"""Ctrl-C while Spark works for the calling thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")


def in_thread(work: Callable[[], T]) -> Future[T]:
    """Done in a thread of its own, which a process that ends does not wait for."""
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name="spark", daemon=True).start()
    return done


def interruptible(work: Callable[[], T]) -> T:
    """Does the work in a thread of its own and waits. Ctrl-C ends the wait and not the work.

    An interrupt in the midst of a call into the JVM would leave its connection in disorder, and traces of that.
    """
    done = in_thread(work)
    while not wait([done], timeout=0.1).done:  # a wait without an end was seen to sleep through Ctrl-C
        pass
    return done.result()
