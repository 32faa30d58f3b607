"""Temporal SQL: programs that build the same plan as the fluent API."""

from waterclock.lang.sql.bind import Given
from waterclock.lang.sql.program import Program, Target
from waterclock.lang.sql.source import Source

__all__ = ["Given", "Program", "Source", "Target"]
