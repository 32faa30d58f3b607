"""Hashes.

Written by scripts/functions.py from the table in waterclock/expr/functions.
"""

from __future__ import annotations

from waterclock.expr.nodes import Expr, call


def md5(value: object) -> Expr:
    """The MD5 digest in hexadecimal digits.

    Example: ``md5('a') = '0cc175b9c0f1b6a831c399e269772661'``
    """
    return call("md5", value)


def sha1(value: object) -> Expr:
    """The SHA-1 digest in hexadecimal digits.

    Example: ``sha1('a') = '86f7e437faa5a7fce15d1ddcb9eaeaea377667b8'``
    """
    return call("sha1", value)


def sha2(value: object, bits: int) -> Expr:
    """The SHA-2 digest of 224, 256, 384 or 512 bits in hexadecimal digits; 0 is 256.

    Example: ``sha2('a', 224) = 'abd37534c7d9a2efb9465de931cd7055ffdb8879563ae98078d6d6d5'``
    """
    return call("sha2", value, bits)


def crc32(value: object) -> Expr:
    """The checksum of bytes by CRC-32.

    Example: ``crc32('a') = 3904355907``
    """
    return call("crc32", value)


def hash(*values: object) -> Expr:
    """A number that spreads values evenly (Murmur 3).

    Example: ``hash('a', 1) = 532252686``
    """
    return call("hash", *values)


sha = sha1
