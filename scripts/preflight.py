"""Says in one sentence what this machine lacks, before anything is installed."""

import os
import re
import shutil
import subprocess
import sys

if sys.version_info < (3, 11):
    sys.exit(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}. Try: make PYTHON=python3.12")

home = os.environ.get("JAVA_HOME")
java = os.path.join(home, "bin", "java") if home else shutil.which("java")
install = (
    "Install it (Debian: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17) or set JAVA_HOME."
)
if not java or not os.path.exists(java):
    sys.exit(f"Java 17 or newer is needed and none was found. {install}")
answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
found = re.search(r'version "(\d+)', answer)
if not found or int(found.group(1)) < 17:
    sys.exit(f"Java 17 or newer is needed; {java} is {found.group(1) if found else 'of an unknown version'}. {install}")
