"""``verify``: each way in which a past result can come out differently is found, and named rightly."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.unit.past.programs import command, program, run
from waterclock.catalog import Catalog


def test_what_was_right_is_proved(tmp_path: Path) -> None:
    file = program(tmp_path)
    run(file, 5, 12, 25, 40, end=True)
    code, said = command("verify", file)
    assert (code, said) == (0, "paid: 5/5 epochs identical (0..4)\n")
    assert command("verify", file, "--epochs", "1..3")[1] == "paid: 3/3 epochs identical (1..3)\n"
    assert command("verify", file, "--epochs", "2", "--vertex", "paid")[1] == "paid: 1/1 epochs identical (2..2)\n"


def test_a_changed_function_is_named_with_the_epoch_and_the_rows(tmp_path: Path) -> None:
    run(program(tmp_path), 5, 12, 25, 40)
    changed = program(tmp_path, price="amount * 2 + (amount == 7)")
    code, said = command("verify", changed)
    assert code == 1
    lines = said.splitlines()
    # Order 7 comes with the second epoch; what it does to the sums shows in the state long before the window closes.
    assert lines[0] == "paid: 1/4 epochs identical"
    assert lines[1].startswith("  epoch 1 differs at: ")
    assert lines[2] == "  user code: your code changed since: price"
    assert lines[-1] == f"  look: waterclock debug {changed} --vertex paid --epoch 1"


def test_a_function_that_changed_without_effect_is_identical(tmp_path: Path) -> None:
    run(program(tmp_path), 5, 12)
    assert command("verify", program(tmp_path, price="amount + amount"))[0] == 0


def test_an_unseeded_random_is_told_from_a_change(tmp_path: Path) -> None:
    file = program(tmp_path, before="import random", price="amount + [random.randrange(10**9) for _ in amount][0]")
    run(file, 5, 12)
    code, said = command("verify", file)
    assert code == 1
    assert "  not deterministic: executing it twice gives two results: price depends on more than its input" in said


def test_a_changed_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "site-packages"
    library.mkdir()
    monkeypatch.syspath_prepend(str(library))
    monkeypatch.setattr("waterclock.usercode.identity._INSTALLED", (str(library),))
    before = "import sys\nsys.modules.pop('shop_tax', None)\nfrom shop_tax import taxed"
    file = program(tmp_path, before=before, price="taxed(amount)")
    (library / "shop_tax.py").write_text("def taxed(amount):\n    return amount * 2\n")
    run(file, 5, 12)
    (library / "shop_tax.py").write_text("def taxed(amount):\n    return amount * 2 + 1 - 0\n")
    from waterclock.usercode import libraries

    libraries._version.cache_clear()
    code, said = command("verify", file)
    sys.modules.pop("shop_tax", None)
    assert code == 1
    assert "  library: a library changed since: shop_tax (" in said


@pytest.mark.parametrize("folder", ["streams/orders", "streams/paid"])
def test_one_flipped_bit_is_found(tmp_path: Path, folder: str) -> None:
    file = program(tmp_path)
    run(file, 5, 12, 25)
    flipped = max((tmp_path / "store" / folder).iterdir(), key=lambda path: path.stat().st_size)
    data = bytearray(flipped.read_bytes())
    data[len(data) // 2] ^= 1
    flipped.write_bytes(bytes(data))
    code, said = command("verify", file)
    assert code == 1
    assert "  damage: " in said
    assert str(flipped.relative_to(tmp_path / "store")) in said


def test_epochs_that_never_were_are_refused(tmp_path: Path) -> None:
    file = program(tmp_path)
    run(file, 5, 12)
    code, said = command("verify", file, "--epochs", "1..7")
    assert code == 1
    assert "epochs 0 to 1 can be executed again" in said
    assert "3..9" in command("verify", file, "--epochs", "x")[1]
    assert "Outputs there: paid" in command("verify", file, "--vertex", "payd")[1]


def test_nothing_recorded(tmp_path: Path) -> None:
    Catalog.open(tmp_path / "store", create=True).close()
    code, said = command("verify", program(tmp_path))
    assert (code, "has computed nothing" in said) == (2, True)


def test_a_program_that_pushes_is_only_looked_at(tmp_path: Path) -> None:
    file = program(tmp_path)
    run(file, 5)
    file.write_text(file.read_text() + '\norders.push([{"user": "x", "amount": 1, "ts": 99_000_000}])\n')
    assert command("verify", file)[0] == 0
    catalog = Catalog.open(tmp_path / "store")
    assert catalog.streams.get("orders").next == 5


def test_only_the_last_epochs_stay_recorded(tmp_path: Path) -> None:
    file = program(tmp_path)
    file.write_text(file.read_text().replace('wc.App("shop", ', 'wc.App("shop", history=2, store='))
    run(file, 5, 12, 25, 40, 60)
    assert command("gc", "--store", tmp_path / "store")[0] == 0
    assert command("verify", file)[1] == "paid: 2/2 epochs identical (3..4)\n"
    assert "history=1000" in command("verify", file, "--epochs", "1")[1]
