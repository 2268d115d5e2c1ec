"""Ports on loopback, for those who have to know theirs before they listen."""

import random
import socket

_PORTS = range(10_000, 32_768)
"""Below those that Linux gives to outgoing connections: one of these could take a port between
its promise and the moment at which somebody listens on it."""

_left = iter(random.SystemRandom().sample(_PORTS, len(_PORTS)))


def free_port() -> int:
    """A port that nobody listens on, and that nobody in this process is promised again."""
    return next(port for port in _left if _is_free(port))


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
