"""Streams: numbered immutable events, what the border admits, and their declaration."""

from waterclock.streams.border import Admitted, Rejected, admit
from waterclock.streams.declaration import Declaration
from waterclock.streams.segment import Piece, Segment, scan_piece

__all__ = ["Admitted", "Declaration", "Piece", "Rejected", "Segment", "admit", "scan_piece"]
