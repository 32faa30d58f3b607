"""Measurements against Spark Structured Streaming: ``python -m bench``."""
