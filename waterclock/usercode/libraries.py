"""The installed modules that user code refers to, each with what tells one version of it from another."""

from __future__ import annotations

import hashlib
import platform
import sys
import sysconfig
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from waterclock.usercode.code import Code
from waterclock.usercode.identity import installed_modules

_STANDARD = sysconfig.get_paths()["stdlib"]


def libraries_of(codes: Iterable[Code]) -> dict[str, str]:
    """By module: what is always used, and what the code names. The standard library goes with Python."""
    found = {"python": platform.python_version(), "polars": pl.__version__, "numpy": np.__version__}
    for code in codes:
        for module in installed_modules(code.function, code.name):
            if module.split(".")[0] not in found:
                version = _version(module)
                if version is not None:
                    found[module] = version
    return found


@cache
def _version(module: str) -> str | None:
    """Its file's digest: a library that was changed by hand has the version that it had. None: part of Python."""
    file = getattr(sys.modules.get(module), "__file__", None)
    top = module.split(".")[0]
    if file is None or top in sys.stdlib_module_names or (file.startswith(_STANDARD) and "-packages" not in file):
        return None
    digest = hashlib.blake2b(Path(file).read_bytes(), digest_size=6).hexdigest()
    version = getattr(sys.modules.get(top), "__version__", None)
    return f"{version}, {digest}" if isinstance(version, str) else digest
