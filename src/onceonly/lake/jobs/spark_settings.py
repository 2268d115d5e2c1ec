"""Settings of Spark that a command is given, such as the jars of a table format."""

import os
import shlex
from collections.abc import Sequence
from typing import Final

from onceonly.message.errors import LocalError

_SUBMIT_ARGS: Final = "PYSPARK_SUBMIT_ARGS"
_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"


def give(settings: Sequence[str]) -> None:
    """Hand these (`KEY=VALUE`) to the Spark that this process is going to start.

    What the lake itself sets for every session stays. Raises `LocalError` (BadSetting) for what is
    no setting, and where spark-submit has started Spark already.
    """
    for one in settings:
        key, equals, _ = one.partition("=")
        if not equals or not key.startswith("spark."):
            text = f"{one!r} is no setting of Spark: spark.KEY=VALUE"
            raise LocalError("BadSetting", text)
    if not settings:
        return
    if _SUBMITTED in os.environ:
        text = "spark-submit has started Spark already: give --conf to spark-submit"
        raise LocalError("BadSetting", text)
    words = [word for one in settings for word in ("--conf", one)]
    others = os.environ.get(_SUBMIT_ARGS, "pyspark-shell")
    os.environ[_SUBMIT_ARGS] = f"{shlex.join(words)} {others}"
