"""Programs to start a gateway under, each with a stderr that is of no use."""

import sys

_EXEC = "os.execv(sys.argv[1], sys.argv[1:])"

_BREAKS = {
    "closed pipe": "r, w = os.pipe(); os.close(r); os.dup2(w, 2); os.close(w)",
    "full disk": "os.dup2(os.open('/dev/full', os.O_WRONLY), 2)",
    # Its reader is there and never reads: the pipe has no room, and a write waits for ever.
    "stalled pipe": (
        "r, w = os.pipe(); os.set_inheritable(r, True); os.set_blocking(w, False)\n"
        "try:\n"
        "    while True: os.write(w, bytes(65536))\n"
        "except BlockingIOError: pass\n"
        "try:\n"
        "    while True: os.write(w, b'x')\n"
        "except BlockingIOError: pass\n"
        "os.set_blocking(w, True); os.dup2(w, 2); os.close(w)"
    ),
    "no stderr": "os.close(2)",
}

KINDS = tuple(_BREAKS)


def under_broken_stderr(kind: str) -> tuple[str, ...]:
    """The prefix of a command that runs in the same process with such a stderr."""
    return (sys.executable, "-c", f"import os, sys\n{_BREAKS[kind]}\n{_EXEC}")
