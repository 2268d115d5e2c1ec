"""Jobs in a process of their own that kill themselves; nothing in the product knows of this."""

from __future__ import annotations

_DIES = """
import importlib, os, signal, sys

*given, place, when, count = sys.argv[1:]
module, _, name = place.rpartition(".")
module = importlib.import_module(f"onceonly.lake.{module}")
original, calls = getattr(module, name), 0

def dying(*arguments, **named):
    global calls
    calls += 1
    is_last = calls == int(count)
    if is_last and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    result = original(*arguments, **named)
    if is_last and when == "after":
        os.kill(os.getpid(), signal.SIGKILL)
    return result

setattr(module, name, dying)
"""


def that_dies(job: str) -> str:
    """A program that does the job with what it is `given`, and dies at a call.

    After what the job takes, its arguments are the place (module within `onceonly.lake` and
    function), `before` or `after`, and the number of the call.
    """
    return _DIES + job
