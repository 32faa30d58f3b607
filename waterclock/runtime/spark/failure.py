"""What Spark says when it fails, in one sentence."""

from __future__ import annotations

import re

from py4j.protocol import Py4JError, Py4JJavaError


def reason(error: Exception) -> str:
    """What a user can act on: the last line of the Python traceback inside Spark's message, or what Spark says."""
    if isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError):
        return "Spark stopped answering."
    text = str(error)
    if isinstance(error, Py4JJavaError) and error.java_exception:
        text = str(error.java_exception.getMessage() or error.java_exception.toString())
    text = text.split("\nDriver stacktrace:")[0]
    raised = re.findall(r"^([A-Za-z_][\w.]*(?:Error|Exception)\b.*)$", text, re.MULTILINE)
    python = [line for line in raised if not line.startswith(("org.", "java.", "scala.", "pyspark.", "py4j."))]
    if python:
        return str(python[-1]).strip()
    last = text.split("most recent failure:")[-1].strip().splitlines()
    return last[0].split("Exception: ")[-1] if last else "Spark gave no reason"
