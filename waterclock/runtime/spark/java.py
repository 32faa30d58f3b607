"""Finds Java before Spark does, so that a missing one is one clear sentence."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from waterclock.errors import RunError

LEAST = 17


def java_version() -> tuple[str, int]:
    """The path of the Java that Spark will use, and its major version."""
    home = os.environ.get("JAVA_HOME")
    path = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if path is None or not os.path.exists(path):
        raise RunError(
            "RUN.NO_JAVA",
            found=f"JAVA_HOME is {home}, without bin/java" if home else "no java was found on the PATH",
        )
    try:
        answer = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    except OSError as error:
        raise RunError("RUN.NO_JAVA", found=f"{path} does not start ({error})") from None
    match = re.search(r'version "(\d+)(?:\.(\d+))?', answer)
    if match is None:
        raise RunError("RUN.NO_JAVA", found=f"{path} does not tell its version")
    major = int(match.group(1)) if match.group(1) != "1" else int(match.group(2) or 0)
    if major < LEAST:
        raise RunError("RUN.NO_JAVA", found=f"{path} is version {major}")
    return path, major
