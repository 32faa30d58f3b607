"""Temporal SQL: programs that build the same plan as the fluent API."""
