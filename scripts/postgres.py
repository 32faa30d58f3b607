"""Finds the PostgreSQL server that the tests start for themselves; where it is missing, installs Debian's package."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

HOW = "apt-get install postgresql"


def programs() -> Path | None:
    """The directory of initdb and postgres, of the newest version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).resolve().parent if on_path else None


def install() -> str | None:
    """None when it is there; otherwise why it cannot be."""
    if programs() is not None:
        return None
    if shutil.which("apt-get") is None:
        return "there is no apt-get"
    if os.geteuid() != 0:
        return "only root can install it"
    print("installing PostgreSQL for the tests ...", flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", "postgresql"]):
        done = subprocess.run(["apt-get", *command], env=quiet, capture_output=True, text=True, check=False)
        if done.returncode:
            return (done.stderr.strip().splitlines() or [f"apt-get {command[0]} failed"])[-1]
    return None if programs() is not None else "the package has no server"


if __name__ == "__main__":
    reason = install()
    if reason is not None:
        print(f"PostgreSQL is not installed and cannot be ({reason}); {HOW}. Its tests are left out.")
