"""How each file format becomes rows: text in blocks of whole lines, the others file by file."""

from waterclock.connect.formats.block import Block

__all__ = ["Block"]
