"""Writes what follows from the table of functions: ``waterclock/functions/`` and ``docs/functions.md``.

python scripts/functions.py            writes both
python scripts/functions.py --check    fails if they are not as they would be written
"""

from __future__ import annotations

import keyword
import subprocess
import sys
from datetime import date, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from waterclock.expr.functions import FAMILIES, Function, Parameter, structs  # noqa: E402
from waterclock.expr.functions.base import UNKNOWN  # noqa: E402

WRITTEN_OTHERWISE = {"case", "is_in", "named_struct", "get_field"}
"""By ``wc.when``, ``.is_in``, ``struct`` and ``.field``; operators by Python's signs."""

PYTHON_TYPES = {"string": "str", "int": "int", "bigint": "int", "double": "float", "boolean": "bool"}

HEAD = '''"""{about}

Written by scripts/functions.py from the table in waterclock/expr/functions.
"""

from __future__ import annotations

from waterclock.expr.nodes import Expr, call


'''
PACKAGE = '''"""Scalar functions by their Spark SQL names.

Written by scripts/functions.py from the table in waterclock/expr/functions.
Arguments are expressions or constants: a string is a constant, a column is ``wc.col("name")``.
"""

'''
STRUCT = '''def struct(**fields: object) -> Expr:
    """Values under names.

    Example: ``struct(x=wc.col("a"), y=1)``
    """
    return call("named_struct", *(part for field in fields.items() for part in field))
'''


def python_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def parameter(given: Parameter) -> str:
    name = python_name(given.name)
    kind = PYTHON_TYPES[given.kind] if given.constant else "object"
    if given.many:
        return f"*{name}: {kind}"
    if given.default is None:
        return f"{name}: {kind} | None = None"
    return f"{name}: {kind}" + ("" if given.default is UNKNOWN else f" = {literal(given.default)}")


def literal(value: Any) -> str:
    return repr(value).replace("'", '"') if isinstance(value, str) else repr(value)


def surface(function: Function) -> str:
    parameters = [parameter(given) for given in function.parameters]
    fixed = [python_name(given.name) for given in function.parameters if not given.many and given.default is not None]
    many = [f"*{python_name(given.name)}" for given in function.parameters if given.many]
    passed = ", ".join([f'"{function.name}"', *fixed, *many])
    optional = [python_name(given.name) for given in function.parameters if given.default is None]
    body = f"call({passed})"
    if optional:
        rest = f'call("{function.name}", {", ".join([*fixed, *optional])})'
        body = f"{body} if {optional[0]} is None else {rest}"
    return (
        f"def {python_name(function.name)}({', '.join(parameters)}) -> Expr:\n"
        f'    """{function.about}\n\n    Example: ``{shown(function)}``\n    """\n    return {body}\n'
    )


def listed(family: ModuleType) -> list[Function]:
    return [f for f in family.TABLE if f.symbol[0].isalpha() and f.name not in WRITTEN_OTHERWISE]


def module(family: ModuleType) -> str:
    """The functions of a family in Python, and their other names."""
    parts = [surface(function) for function in listed(family)]
    parts += [STRUCT] if family is structs else []
    others = "".join(f"{alias} = {python_name(f.name)}\n" for f in listed(family) for alias in f.aliases)
    return HEAD.format(about=family.__doc__.splitlines()[0]) + "\n\n".join(parts) + (f"\n\n{others}" if others else "")


def names(family: ModuleType) -> list[str]:
    own = [python_name(name) for function in listed(family) for name in (function.name, *function.aliases)]
    return sorted([*own, "struct"] if family is structs else own)


def package() -> str:
    lines, every = [], []
    for name, family in sorted(modules().items()):
        every += names(family)
        lines.append(f"from waterclock.functions.{name} import {', '.join(names(family))}\n")
    return PACKAGE + "".join(lines) + f"\n__all__ = {sorted(every)!r}\n"


def modules() -> dict[str, ModuleType]:
    return {family.__name__.rpartition(".")[2]: family for family in FAMILIES.values()}


# -- the page ----------------------------------------------------------------------------------------------


def value(given: Any) -> str:
    """A value as it stands in SQL."""
    if given is None:
        return "NULL"
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, datetime):
        fraction = f".{given.microsecond:06d}".rstrip("0") if given.microsecond else ""
        return f"TIMESTAMP'{given:%Y-%m-%d %H:%M:%S}{fraction}'"
    if isinstance(given, date):
        return f"DATE'{given:%Y-%m-%d}'"
    if isinstance(given, bytes):
        return f"X'{given.hex().upper()}'"
    if isinstance(given, list):
        return f"array({', '.join(map(value, given))})"
    if isinstance(given, dict):
        return f"named_struct({', '.join(f'{value(name)}, {value(part)}' for name, part in given.items())})"
    if isinstance(given, float):
        return repr(given) if given == given else "double('NaN')"
    return repr(given)


def shown(function: Function) -> str:
    """The example as SQL, and what it gives."""
    args = [value(arg) for arg in function.example.args]
    if not function.symbol[0].isalpha() and len(args) == 2:
        text = f"{args[0]} {function.symbol} {args[1]}"
    else:
        text = f"{function.name}({', '.join(args)})"
    return f"{text} = {value(function.example.result)}"


INTRODUCTION = """# Functions

Names, types and null rules are those of Spark SQL in a session with `spark.sql.ansi.enabled=false` and the time zone UTC:
integers wrap around, a quotient by zero is null. A cast is Spark's `try_cast`: null where a value does not fit. Every function
runs as a vectorised Polars expression in streams and as Spark SQL in batch mode, and gives the same in both.

```python
import waterclock as wc

f = wc.functions
print(f.regexp_extract(wc.col("line"), "id=([0-9]+)", 1).cast("bigint"))
print(f.date_trunc("HOUR", wc.col("ts")), f.coalesce(wc.col("name"), "nobody"))
```

```text output
cast(regexp_extract(line, 'id=([0-9]+)', 1) as bigint)
date_trunc('HOUR', ts) coalesce(name, 'nobody')
```

A parameter marked `const` is a constant, known when the query is written. `T` stands for any type, `N` for a number, `I` for an
integer, `O` for a value that has an order: wherever the letter stands, the same type, the widest that is given. What is followed
by `...` may come any number of times.

Types: `boolean`, `int`, `bigint`, `float`, `double`, `string`, `binary`, `date`, `timestamp`, `array<type>`,
`struct<name:type,...>`. There are no decimals, maps or intervals (use `timestampadd`), no integers of 8 and 16 bits, and no
functions that take functions.
"""


def page(differences: dict[str, Any]) -> str:
    lines = [INTRODUCTION]
    for family, module_ in FAMILIES.items():
        lines += [
            f"## {family}",
            "",
            f"{module_.__doc__.splitlines()[0]}",
            "",
            "| function | | example |",
            "|---|---|---|",
        ]
        for function in module_.TABLE:
            signature = (
                function.signature if function.symbol[0].isalpha() else f"{function.symbol}  {function.signature}"
            )
            about = function.about + (f" Also `{'`, `'.join(function.aliases)}`." if function.aliases else "")
            about += " Not in Spark." if function.ours else ""
            lines.append(f"| {cell(signature)} | {about} | {cell(shown(function))} |")
        lines.append("")
    lines += ["## Differences from Spark", "", "In the cases that are tested, these and no others:", ""]
    lines += [f"- {reason}" for reason in differences]
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    return "`" + text.replace("|", "\\|").replace("\n", "\\n") + "`"


def outputs() -> dict[Path, str]:
    from tests.functions.differences import DIFFERENCES

    folder = ROOT / "waterclock" / "functions"
    python = {folder / f"{name}.py": module(family) for name, family in modules().items() if names(family)}
    python[folder / "__init__.py"] = package()
    return {path: formatted(text) for path, text in python.items()} | {
        ROOT / "docs" / "functions.md": page(DIFFERENCES)
    }


def formatted(text: str) -> str:
    for command in (["check", "--quiet", "--isolated", "--select", "I,RUF022", "--fix"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--line-length", "120", "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


def main() -> None:
    stale = [path for path, text in outputs().items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        sys.exit(f"not up to date, run python scripts/functions.py: {', '.join(map(str, stale))}" if stale else 0)
    for path, text in outputs().items():
        path.write_text(text)


if __name__ == "__main__":
    main()
