"""Code of users: what tells one from another, how it is called, and how its errors are shown."""

from waterclock.usercode.code import Code
from waterclock.usercode.registry import lookup, names, register

__all__ = ["Code", "lookup", "names", "register"]
