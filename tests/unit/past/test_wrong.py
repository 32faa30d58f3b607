"""What the time machine says when something is wrong: damage, other programs, files that are no bundles."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.past.programs import SHOP, command, program, run

BUNDLE = "[STORE.NOT_A_BUNDLE] {path} is a file, but not a bundle: "


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = program(tmp_path)
    run(found, 5, 12, 25, 40)
    return found


@pytest.fixture
def packed(file: Path, tmp_path: Path) -> Path:
    path = tmp_path / "bug.bundle"
    assert command("bundle", file, "--vertex", "paid", "--epochs", 2, "-o", path)[0] == 0
    return path


def debug(file: Path, *words: object, epoch: int = 2) -> str:
    return command("debug", file, "--vertex", "paid", "--epoch", epoch, *words)[1]


def test_epochs_that_are_not_there(file: Path, packed: Path) -> None:
    assert "There is no epoch 9 of 'paid' yet: epochs 0 to 3 can be executed again." in debug(file, epoch=9)
    assert "There is no epoch 7 of 'paid' yet" in command("verify", file, "--epochs", "1..7")[1]
    assert "Epoch 3 of 'paid' is not in the bundle: epoch 2 can be executed" in debug(file, "--store", packed, epoch=3)


def test_outputs_and_apps_that_are_not_there(file: Path, packed: Path, tmp_path: Path) -> None:
    assert "Did you mean 'paid'?" in command("debug", file, "--vertex", "payd", "--epoch", 1)[1]
    other = tmp_path / "other.py"
    other.write_text(file.read_text().replace('App("shop"', 'App("other"'))
    for store in (tmp_path / "store", packed):
        said = debug(other, "--store", store)
        assert f"There is no output 'paid' of the app 'other' in {store}" in said
        assert "Outputs there: none. It has results of: shop." in said
        said = command("verify", other, "--store", store)[1]
        assert f"The app 'other' has computed nothing in {store}." in said
        assert "It has results of: shop." in said


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"orders"', '"bills"', "[PLAN.UNLIKE_INPUT] The query of 'paid' reads bills, and read orders when"),
        ("n=wc.count(), ", "", "[PLAN.UNLIKE_STATE] The query of 'paid' has changed since"),
        ('.group_by("user").tumbling("10s").agg(n=wc.count(), paid=wc.sum("price"))', "", "[PLAN.UNLIKE] The query of"),
    ],
)
def test_another_version_that_cannot_take_its_place(file: Path, old: str, new: str, said: str) -> None:
    assert old in SHOP
    file.write_text(file.read_text().replace(old, new))
    for found in (debug(file, "-c", "run"), command("verify", file)[1]):
        assert said in found
        assert "waterclock replay --with" in found


@pytest.mark.parametrize(("folder", "shown"), [("streams/orders", "inputs"), ("state/paid", "state")])
@pytest.mark.parametrize("how", ["gone", "short"])
def test_damage_is_said_by_every_command(file: Path, tmp_path: Path, folder: str, shown: str, how: str) -> None:
    for path in (tmp_path / "store" / folder).iterdir():
        path.unlink() if how == "gone" else path.write_bytes(b"short")
    said = debug(file, "-c", f"{shown}; run; where")
    assert said.count("[STORE.DAMAGED]") == 2
    assert "epoch 2 of paid, failed" in said
    code, said = command("verify", file)
    assert code == 1
    assert "  damage: " in said
    code, said = command("bundle", file, "--vertex", "paid", "--epochs", 2, "-o", tmp_path / "bug.bundle")
    assert (code, "[STORE.DAMAGED]" in said) == (1, True)
    assert not (tmp_path / "bug.bundle").exists()


def changed(about: Callable[[dict[str, object]], object]) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with zipfile.ZipFile(path) as file:
            parts = {name: file.read(name) for name in file.namelist()}
        parts["bundle.json"] = json.dumps(about(json.loads(parts["bundle.json"]))).encode()
        with zipfile.ZipFile(path, "w") as file:
            for name, data in parts.items():
                file.writestr(name, data)

    return change


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-500])


def scratched(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[300:900] = bytes(600)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (changed(lambda about: about | {"format": 2, "waterclock": "9.0"}), "was written by waterclock 9.0, this is "),
        (changed(lambda about: {}), BUNDLE + "its bundle.json does not say which format it has."),
        (torn, BUNDLE),
        (scratched, BUNDLE),
        (lambda path: path.write_text("hello"), BUNDLE + "File is not a zip file."),
    ],
    ids=["newer", "unnamed", "torn", "scratched", "text"],
)
def test_files_that_are_no_bundles(file: Path, packed: Path, harm: Callable[[Path], None], said: str) -> None:
    harm(packed)
    found = debug(file, "--store", packed)
    assert said.format(path=packed) in found
    assert found.startswith("error [STORE.")


def test_a_zip_file_without_a_store(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "some.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("bundle.json", '{"format": 1}')
    assert BUNDLE.format(path=path) + "it has no catalog." in debug(file, "--store", path)


def test_a_bundle_that_cannot_be_written(file: Path, tmp_path: Path) -> None:
    code, said = command("bundle", file, "--vertex", "paid", "--epochs", 2, "-o", tmp_path / "no" / "bug.bundle")
    assert (code, "name a file in a directory that is there" in said) == (2, True)
