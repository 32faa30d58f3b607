"""What a function is, as a hash: its source without comments and layout, and every value that it takes from outside.

Values are plain data, other functions and classes of the user (by their own identity), and what is installed (by name).
Anything else could change without being seen, so it is refused.
"""

from __future__ import annotations

import ast
import dataclasses
import dis
import enum
import functools
import hashlib
import inspect
import linecache
import re
import sys
import sysconfig
import textwrap
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodDescriptorType, ModuleType
from typing import Any

import numpy as np
import polars as pl

from waterclock.errors import ConfigError

_PLAIN = (
    type(None), bool, int, float, complex, str, bytes, date, datetime, time, timedelta, Decimal, Fraction,
    enum.Enum, range, pl.DataType,
)  # fmt: skip
_INSTALLED = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_OURS = str(Path(__file__).parents[1])


def digest_of(function: Any, name: str) -> str:
    """Of a function, a class, or a ``functools.partial`` of one."""
    return hashlib.blake2b(_Seen(name).described(name, function).encode(), digest_size=8).hexdigest()


def installed_modules(function: Any, name: str) -> set[str]:
    """Those whose functions, classes or names it refers to."""
    seen = _Seen(name)
    seen.described(name, function)
    return seen.installed


def is_installed(file: str | None) -> bool:
    """Whether a file belongs to Python, to an installed package or to this one, not to the user."""
    return file is None or file.startswith(("<frozen", _OURS, *_INSTALLED))


class _Seen:
    """One walk over what a function refers to."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._numbers: dict[int, int] = {}
        self.installed: set[str] = set()
        """Modules that are not the user's."""

    def described(self, name: str, value: Any) -> str:
        if isinstance(value, type) and _of(value) != "user":
            self.installed.add(value.__module__)
            return f"{type(value).__name__}:{value!r}"
        if isinstance(value, _PLAIN):
            return f"{type(value).__name__}:{value!r}"
        if isinstance(value, list | tuple):
            return f"{type(value).__name__}:[{','.join(self.described(name, one) for one in value)}]"
        if isinstance(value, set | frozenset):
            return f"{type(value).__name__}:[{','.join(sorted(self.described(name, one) for one in value))}]"
        if isinstance(value, dict):
            pairs = (f"{self.described(name, k)}={self.described(name, v)}" for k, v in value.items())
            return f"dict:[{','.join(pairs)}]"
        if isinstance(value, re.Pattern):
            return f"pattern:{value.pattern!r}/{value.flags}"
        if isinstance(value, pl.Series | pl.DataFrame | np.ndarray):
            return f"data:{_content(value)}"
        if isinstance(value, pl.Expr):
            return f"expression:{hashlib.blake2b(value.meta.serialize(), digest_size=8).hexdigest()}"
        if isinstance(value, ModuleType):
            return self._module(value)
        if isinstance(value, functools.partial):
            inside = (value.func, value.args, value.keywords)
            return f"partial:{self.described(name, inside)}"
        if isinstance(value, BuiltinFunctionType | MethodDescriptorType | np.ufunc):
            return f"built in:{getattr(value, '__module__', '')}.{value.__name__}"
        if inspect.isfunction(value) or isinstance(value, type):
            return self._once(value)
        if _of(type(value)) == "ours" and hasattr(value, "code"):  # what our decorators make
            return f"user code:{self.described(name, value.code.function)}"
        if dataclasses.is_dataclass(value):
            fields = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
            return f"{self._once(type(value))}:{self.described(name, fields)}"
        raise ConfigError("USER.NOT_PLAIN", name=self._root, what=name, type=type(value).__name__)

    def _once(self, value: Any) -> str:
        """Functions may refer to each other in a circle."""
        if id(value) in self._numbers:
            return f"again:{self._numbers[id(value)]}"
        self._numbers[id(value)] = len(self._numbers)
        if _of(value) != "user":
            self.installed.add(value.__module__)
            return f"installed:{value.__module__}.{value.__qualname__}"
        return self._function(value) if inspect.isfunction(value) else self._class(value)

    def _module(self, module: ModuleType) -> str:
        file = getattr(module, "__file__", None)
        if is_installed(file):
            self.installed.add(module.__name__)
            return f"module:{module.__name__}"
        assert file is not None
        return f"module:{module.__name__}:{hashlib.blake2b(Path(file).read_bytes(), digest_size=8).hexdigest()}"

    def _function(self, function: FunctionType) -> str:
        source = _source(function)
        outside = dict(_cells(function))
        for name in sorted(_globals(function.__code__)):
            if name in function.__globals__:
                outside[name] = function.__globals__[name]
        values = [function.__defaults__, function.__kwdefaults__, *outside.items()]
        return f"function:{source}|{'|'.join(self.described(_name_of(value), value) for value in values)}"

    def _class(self, kind: type) -> str:
        source = _normal("".join(source_lines(kind)[0]))
        bases = [self.described(kind.__name__, base) for base in kind.__bases__ if base is not object]
        methods = [
            self._once(member)
            for member in (getattr(found, "__func__", found) for found in vars(kind).values())
            if inspect.isfunction(member) and member.__qualname__.startswith(kind.__qualname__ + ".")
            if not member.__code__.co_filename.startswith("<")  # made by dataclass
        ]
        return f"class:{source}|{'|'.join([*bases, *methods])}"


def _name_of(value: Any) -> str:
    return value[0] if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) else "a default"


def _of(value: Any) -> str:
    """Who wrote a function or class: the user, we, or others."""
    module = getattr(value, "__module__", None) or ""
    if module.split(".")[0] == "waterclock":
        return "ours"
    found = sys.modules.get(module)
    file = value.__code__.co_filename if inspect.isfunction(value) else getattr(found, "__file__", None)
    if found is not None and file is None and module not in ("__main__", "__mp_main__"):
        return "others"  # built in
    return "others" if file is not None and is_installed(file) else "user"


def _content(value: pl.Series | pl.DataFrame | np.ndarray) -> str:
    frame = value if isinstance(value, pl.DataFrame) else pl.Series("v", value).to_frame()
    text = f"{frame.schema}{frame.rows()}"
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def source_lines(code: Any) -> tuple[list[str], int, str]:
    """The source of a function or class: its lines, the number of the first, and the file."""
    try:
        lines, line = inspect.getsourcelines(code)
        return lines, max(line, 1), inspect.getsourcefile(code) or "?"
    except (OSError, TypeError):
        pass
    # A class knows its file only through its module, and one that was executed from text has none: ask its methods.
    for member in vars(code).values() if isinstance(code, type) else ():
        if inspect.isfunction(member):
            file = member.__code__.co_filename
            lines = linecache.getlines(file)
            for line in range(min(member.__code__.co_firstlineno, len(lines)), 0, -1):
                if re.match(rf"\s*class {code.__name__}\b", lines[line - 1]):
                    return inspect.getblock(lines[line - 1 :]), line, file
    raise ConfigError("USER.NO_SOURCE", name=getattr(code, "__name__", repr(code)))


def _source(function: FunctionType) -> str:
    source = "".join(source_lines(function)[0])
    return _lambda(function, source) if function.__name__ == "<lambda>" else _normal(source)


def _normal(source: str) -> str:
    """Without comments, layout and decorators."""
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:
        return source  # a text in it starts further left than the code
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.decorator_list = []
    return ast.unparse(tree)


def _lambda(function: FunctionType, source: str) -> str:
    """A lambda alone: the statement around it may hold others."""
    code = function.__code__
    places = set(code.co_positions())
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except SyntaxError:  # a page with examples: no places there
        tree = ast.Module([], [])
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno:
            body = node.body
            if (body.lineno, body.end_lineno, body.col_offset, body.end_col_offset) in places:
                return ast.unparse(node)
    return f"{source.strip()}|{code.co_varnames}|{code.co_names}|{_constants(code)}|{code.co_code.hex()}"


def _constants(code: CodeType) -> str:
    return repr([_constants(one) if isinstance(one, CodeType) else one for one in code.co_consts])


def _cells(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not given a value yet
            continue


def _globals(code: CodeType) -> set[str]:
    """The global names that a function reads, those of functions inside it too."""
    found = {one.argval for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return found.union(*(_globals(inner) for inner in code.co_consts if isinstance(inner, CodeType)))
