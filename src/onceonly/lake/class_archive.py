"""An archive of the classes that Spark needs, from which Java starts sooner.

Java can keep classes as it has loaded and checked them (class data sharing). The archive is of one
Java and one Spark: with others, Java does not use it, and starts as it does without.
`jobs.class_archive` makes it.
"""

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

import pyspark

PLACE: Final = "ONCEONLY_CLASS_ARCHIVE"
"""Where the archive is, if not in the user's cache folder; empty for none."""


def place(environment: Mapping[str, str] | None = None) -> Path | None:
    """Where the archive of this installation of Spark is to be; None where none is wanted."""
    env = os.environ if environment is None else environment
    if PLACE in env:
        return Path(env[PLACE]).absolute() if env[PLACE] else None
    cache = Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "onceonly"
    spark = f"{Path(pyspark.__file__).parent} {pyspark.__version__}"
    return cache / f"spark-{sha256(spark.encode()).hexdigest()[:12]}.jsa"


def of_java(where: Path) -> Path:
    """Where the archive of Java's own classes is, for a Java that comes without one."""
    return where.with_name(f"java-of-{where.name}")


def options(environment: Mapping[str, str] | None = None) -> list[str]:
    """What Java is to be told, so that it starts from the archive; nothing where there is none."""
    where = place(environment)
    return [] if where is None or not where.is_file() else [f'"-XX:SharedArchiveFile={where}"']
