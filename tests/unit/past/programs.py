"""A shop whose program is a file, as users have it, run over a store epoch by epoch."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

import waterclock as wc
from waterclock.app import App
from waterclock.cli.file import load
from waterclock.cli.main import main

SHOP = """
import waterclock as wc
{before}

@wc.function(returns="bigint")
def price(amount):
    return {price}

app = wc.App("shop", {store!r})
orders = app.stream("orders", {{"user": str, "amount": int, "ts": "timestamp"}}, time="ts")
priced = orders.with_columns(price=price(wc.col("amount")))
priced.group_by("user").tumbling("10s").agg(n=wc.count(), paid=wc.sum("price")).into("paid")
"""


def program(folder: Path, price: str = "amount * 2", before: str = "", name: str = "shop.py") -> Path:
    file = folder / name
    file.write_text(SHOP.format(price=price, before=before, store=str(folder / "store")))
    return file


def orders(first: int, end: int) -> list[dict[str, object]]:
    return [{"user": f"u{n % 3}", "amount": n, "ts": n * 1_000_000} for n in range(first, end)]


def run(file: Path, *cuts: int, end: bool = False) -> App:
    """An epoch for the orders up to each cut."""
    before = 0
    for cut in cuts:
        app = load(file, None, None)
        stream = app.source("orders")
        stream.push(orders(before, cut))
        if end and cut == cuts[-1]:
            stream.end()
        app.run(mode="offline")
        before = cut
    return app


def command(*words: object, given: str | None = None) -> tuple[int, str]:
    result = CliRunner().invoke(main, [str(word) for word in words], input=given)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


__all__ = ["command", "orders", "program", "run", "wc"]
