"""A strict parser of Prometheus's text exposition format 0.0.4: what is not in its description is an error."""

from __future__ import annotations

import re
from typing import NamedTuple

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"')
SUFFIXES = {"summary": ("", "_sum", "_count"), "counter": ("",), "gauge": ("",)}

Key = tuple[str, frozenset[tuple[str, str]]]


class Exposition(NamedTuple):
    kinds: dict[str, str]
    values: dict[Key, float]

    def get(self, name: str, **labels: str) -> float:
        return self.values[name, frozenset(labels.items())]

    def named(self, name: str) -> dict[frozenset[tuple[str, str]], float]:
        return {labels: value for (found, labels), value in self.values.items() if found == name}


def parse(text: str) -> Exposition:
    assert not text or text.endswith("\n"), "the last line must end"
    kinds: dict[str, str] = {}
    helped: set[str] = set()
    values: dict[Key, float] = {}
    current: str | None = None
    for line in text.split("\n")[:-1]:
        if line.startswith("# HELP "):
            name, about = line[7:].split(" ", 1)
            assert NAME.fullmatch(name), line
            assert name not in helped, f"{name} has two HELP lines"
            assert re.fullmatch(r"(?:[^\\\n]|\\[\\n])+", about), line
            helped.add(name)
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            assert name in helped, f"{name} has no HELP line before its TYPE"
            assert name not in kinds, f"the samples of {name} are not together"
            assert kind in SUFFIXES, line
            kinds[name] = kind
            current = name
        else:
            key, value = _sample(line)
            assert current is not None, line
            assert key[0].removeprefix(current) in SUFFIXES[kinds[current]], f"{line} is not under its TYPE"
            if kinds[current] == "counter":
                assert current.endswith("_total"), current
                assert value >= 0, line
            assert key not in values, f"twice: {line}"
            values[key] = value
    assert helped == set(kinds)
    return Exposition(kinds, values)


def _sample(line: str) -> tuple[Key, float]:
    found = NAME.match(line)
    assert found, line
    name, rest = found[0], line[found.end() :]
    labels: dict[str, str] = {}
    if rest.startswith("{"):
        at = 1
        while rest[at] != "}":
            label = LABEL.match(rest, at)
            assert label, line
            assert label[1] not in labels, line
            labels[label[1]] = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], label[2])
            at = label.end()
            if rest[at] == ",":
                at += 1
            else:
                assert rest[at] == "}", line
        rest = rest[at + 1 :]
    assert rest.startswith(" "), line
    assert rest.count(" ") == 1, line
    return (name, frozenset(labels.items())), float(rest[1:])
