"""Programs on their way to the workers. Code of users goes by value: their modules need not be there."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pyspark

from waterclock.plan.nodes import Node
from waterclock.plan.user import codes_of, user_code
from waterclock.runtime.task import Program
from waterclock.usercode.identity import is_installed

cloudpickle: Any = pyspark.cloudpickle  # PySpark does not say its types


def shipped(program: Program) -> bytes:
    with by_value([program.plan.root]):
        return bytes(cloudpickle.dumps(program))


@contextmanager
def by_value(plans: Iterable[Node]) -> Iterator[None]:
    """While it lasts, the modules that the plans' user code was written in are pickled by value."""
    modules = _modules(plans)
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


def _modules(plans: Iterable[Node]) -> list[ModuleType]:
    found: dict[str, ModuleType] = {}
    for code in (code for one in user_code(*plans) for code in codes_of(one)):
        function = code.function
        while isinstance(function, functools.partial):
            function = function.func
        module = sys.modules.get(function.__module__)
        if module is not None and not is_installed(getattr(module, "__file__", None)):
            found[module.__name__] = module
    return list(found.values())
