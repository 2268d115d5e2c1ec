"""Ports on loopback, for those who have to know theirs before they listen."""

import errno
import random
import socket
from collections.abc import Iterator
from itertools import cycle, islice

_BLOCKS = range(10_000, 20_000, 250)
"""Below those that Linux gives to outgoing connections: one of these could take a port between
its promise and the moment at which somebody listens on it. The demonstration's follow."""


def free_port() -> int:
    """A port that nobody listens on, and that nobody else is promised soon."""
    for port in islice(_ports, _BLOCKS.step):
        if _is_free(port):
            return port
    raise RuntimeError("somebody listens on every port of this process")


def _own() -> Iterator[int]:
    """Ports of a block that no other process has.

    A block is of the process that listens on its first port, until that ends: lanes of tests run at
    once, and of two that found the same port free at the same moment one could not listen on it.
    """
    for first in random.SystemRandom().sample(_BLOCKS, len(_BLOCKS)):
        try:
            socket.create_server(("127.0.0.1", first)).detach()
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            yield from cycle(range(first + 1, first + _BLOCKS.step))
    raise RuntimeError(f"all {len(_BLOCKS)} blocks of ports are taken by other processes")


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


_ports = _own()
