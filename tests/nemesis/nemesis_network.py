"""Two hosts with a wire between them, as network namespaces, and what a firewall does to it.

Knows `ip`, `nft` and one system call; must not know what travels. A namespace has a loopback of
its own, so an application outside reaches a gateway's API through a `Window`: a port outside that
leads to the same port inside. Nothing outside of the two namespaces is changed.
"""

import ctypes
import os
import select
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress

import pytest

CLONE_NEWNET = 0x4000_0000
"""What `setns` is to change: linux/sched.h."""

PIECE_BYTES = 65_536
LOOK_S = 0.1
"""Between looks whether a window is to close."""

WIRE = "wire"
"""The interface's name on either host."""


class Host:
    """One end of the wire."""

    def __init__(self, namespace: str, address: str) -> None:
        self.namespace = namespace
        self.address = address

    @property
    def prefix(self) -> tuple[str, ...]:
        """Before a command that is to run there."""
        return ("ip", "netns", "exec", self.namespace)

    def filter(self, *, incoming: str = "accept", outgoing: str = "accept") -> None:
        """Judge the packets of the wire by these rules of nft, from now on."""
        rules = f"""
            flush ruleset
            table inet faults {{
              chain incoming {{
                type filter hook input priority 0
                iifname "{WIRE}" {incoming}
              }}
              chain outgoing {{
                type filter hook output priority 0
                oifname "{WIRE}" {outgoing}
              }}
            }}
        """
        _run(*self.prefix, "nft", "-f", "-", text=rules)

    def heal(self) -> None:
        """No rules any more."""
        _run(*self.prefix, "nft", "flush", "ruleset")

    @contextmanager
    def window(self, port: int) -> Iterator[None]:
        """The port of 127.0.0.1 outside leads to that of the host's own loopback."""
        with socket.create_server(("127.0.0.1", port)) as listener:
            is_ending = threading.Event()
            thread = threading.Thread(target=self._look_out, args=(listener, port, is_ending))
            thread.start()
            try:
                yield
            finally:
                is_ending.set()
                thread.join()

    def _look_out(self, listener: socket.socket, port: int, is_ending: threading.Event) -> None:
        # A thread is in the namespace of the one that started it; this one moves, and no other.
        _enter(self.namespace)
        carrying: list[threading.Thread] = []
        while not is_ending.is_set():
            readable, _, _ = select.select([listener], [], [], LOOK_S)
            if readable:
                near, _ = listener.accept()
                carrying = [one for one in carrying if one.is_alive()]
                carrying.append(threading.Thread(target=_carry, args=(near, port, is_ending)))
                carrying[-1].start()
        for one in carrying:
            one.join()


def _carry(near: socket.socket, port: int, is_ending: threading.Event) -> None:
    with closing(near), suppress(OSError), socket.create_connection(("127.0.0.1", port)) as far:
        ways = {near: far, far: near}
        while not is_ending.is_set():
            readable, _, _ = select.select(list(ways), [], [], LOOK_S)
            for source in readable:
                piece = source.recv(PIECE_BYTES)
                if not piece:
                    return
                ways[source].sendall(piece)


def _enter(namespace: str) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    file = os.open(f"/run/netns/{namespace}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if library.setns(file, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
    finally:
        os.close(file)


def _run(*command: str, text: str | None = None) -> None:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")


@contextmanager
def two_hosts() -> Iterator[tuple[Host, Host]]:
    """Two hosts and a wire; they are removed at the end, whatever happened.

    Skips where this machine cannot make them.
    """
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    for program in ("ip", "nft"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is missing")
    hosts = tuple(Host(f"once-{os.getpid()}-{end}", f"10.77.0.{end}") for end in (1, 2))
    with ExitStack() as undo:
        try:
            _build(hosts, undo)
        except OSError as error:
            pytest.skip(f"no network namespaces here: {error}")
        yield hosts[0], hosts[1]


def _build(hosts: tuple[Host, ...], undo: ExitStack) -> None:
    for host in hosts:
        _run("ip", "netns", "add", host.namespace)
        undo.callback(_run, "ip", "netns", "del", host.namespace)
    ours, theirs = (host.namespace for host in hosts)
    _run(
        *("ip", "-n", ours, "link", "add", WIRE, "type", "veth"),
        *("peer", "name", WIRE, "netns", theirs),
    )
    for host in hosts:
        ip = ("ip", "-n", host.namespace)
        _run(*ip, "addr", "add", f"{host.address}/24", "dev", WIRE)
        for interface in ("lo", WIRE):
            _run(*ip, "link", "set", interface, "up")
        host.filter()
        host.heal()
