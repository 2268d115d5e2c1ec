"""A TCP proxy that resets connections after n bytes of a request or of its answer (fault N8).

Knows bytes and connections; must not know HTTP beyond "the answer begins when the other side
speaks".
"""

import select
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from enum import Enum
from typing import NamedTuple

PIECE_BYTES = 65_536
LOOK_S = 0.1
"""Between looks whether the proxy is to end."""

_RESET_AT_CLOSE = struct.pack("ii", 1, 0)


class Flow(Enum):
    """Which bytes are counted."""

    REQUEST = "request"
    ANSWER = "answer"


class Cut(NamedTuple):
    """Reset both connections as soon as so many bytes went through."""

    flow: Flow
    after_bytes: int


class Cutter:
    """What happens to each connection in turn: each is cut `step` bytes later than the one before.

    The sweep is over behind `last_bytes`, or, without it, when an answer begins although the
    request was to be cut later: then all of it had passed.
    """

    def __init__(self, flow: Flow, *, step: int, last_bytes: int | None = None) -> None:
        self._flow = flow
        self._step = step
        self._last_bytes = last_bytes
        self._after_bytes = 0
        self.cuts = 0
        self.is_over = False

    def next(self) -> Cut | None:
        """For the next connection."""
        if self._last_bytes is not None and self._after_bytes > self._last_bytes:
            self.is_over = True
        return None if self.is_over else Cut(self._flow, self._after_bytes)

    def note_cut(self) -> None:
        """The connection was cut."""
        self.cuts += 1
        self._after_bytes += self._step

    def note_answer(self) -> None:
        """An answer begins on a connection that was not cut."""
        if self._flow is Flow.REQUEST:
            self.is_over = True


class CuttingProxy:
    """Listens on a port of its own and carries to `target`; use `running`.

    `cutter` decides about connections that come; without one, none is cut. `answer_bytes` are
    those of the last connection's answers.
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._is_ending = threading.Event()
        self._is_hanging_up = threading.Event()
        self._threads: list[threading.Thread] = []
        self.cutter: Cutter | None = None
        self.answer_bytes = 0

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/msh"

    @contextmanager
    def running(self) -> Iterator["CuttingProxy"]:
        """Carry until the end of the block; every thread has ended then."""
        accepting = threading.Thread(target=self._accept)
        accepting.start()
        try:
            yield self
        finally:
            self._is_ending.set()
            accepting.join()
            self.hang_up()
            self._listener.close()

    def hang_up(self) -> None:
        """Close every connection that is open, so that the next request needs a new one."""
        self._is_hanging_up.set()
        for thread in self._threads:
            thread.join()
        self._is_hanging_up.clear()

    def _accept(self) -> None:
        while not self._is_ending.is_set():
            if _wait_for([self._listener]):
                near, _ = self._listener.accept()
                self._threads = [one for one in self._threads if one.is_alive()]
                self._threads.append(threading.Thread(target=self._serve, args=(near,)))
                self._threads[-1].start()

    def _serve(self, near: socket.socket) -> None:
        cutter = self.cutter
        cut = None if cutter is None else cutter.next()
        with closing(near), suppress(OSError):
            with closing(socket.create_connection(self._target)) as far:
                if not self._carry(near, far, cut):
                    return
                _reset_at_close(far)
            _reset_at_close(near)
            assert cutter is not None, "it has said where to cut"
            # Counted before the sender can see it and come again.
            cutter.note_cut()

    def _carry(self, near: socket.socket, far: socket.socket, cut: Cut | None) -> bool:
        """Whether the connection was cut; False if it ended by itself."""
        self.answer_bytes = 0
        left = {flow: cut.after_bytes if cut and cut.flow is flow else None for flow in Flow}
        if left[Flow.REQUEST] == 0:
            return True
        ways = {near: (far, Flow.REQUEST), far: (near, Flow.ANSWER)}
        while not self._is_hanging_up.is_set():
            for source in _wait_for([near, far]):
                sink, flow = ways[source]
                piece = source.recv(PIECE_BYTES)
                if not piece:
                    return False
                if flow is Flow.ANSWER:
                    self._note_answer(piece, cut)
                passed, left[flow] = _up_to(piece, left[flow])
                sink.sendall(passed)
                if left[flow] == 0:
                    return True
        return False

    def _note_answer(self, piece: bytes, cut: Cut | None) -> None:
        self.answer_bytes += len(piece)
        if cut is not None and self.cutter is not None:
            self.cutter.note_answer()


def _wait_for(sockets: list[socket.socket]) -> list[socket.socket]:
    readable, _, _ = select.select(sockets, [], [], LOOK_S)
    return list(readable)


def _up_to(piece: bytes, left: int | None) -> tuple[bytes, int | None]:
    if left is None:
        return piece, None
    return piece[:left], max(0, left - len(piece))


def _reset_at_close(sock: socket.socket) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
