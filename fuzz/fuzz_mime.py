"""Fuzzes the MIME splitter.

The first byte of the input says how large the pieces are, the rest is a body with boundary `b`.
"""

from fuzzing import pieces_of
from onceonly.message.errors import RemoteError
from onceonly.wire.splitter import PartBytes, PartEvent, Splitter


def split(data: bytes) -> None:
    """The same parts, or the same refusal, in pieces as in one."""
    whole, pieces = pieces_of(data)
    assert outcome([whole]) == outcome(pieces)


def outcome(pieces: list[bytes]) -> list[object]:
    splitter = Splitter("b")
    found: list[object] = []
    try:
        for piece in pieces:
            for event in splitter.feed(piece):
                _add(found, event)
        for event in splitter.finish():
            _add(found, event)
    except RemoteError as error:
        return [str(error)]
    return found


def _add(found: list[object], event: PartEvent) -> None:
    if isinstance(event, PartBytes) and found and isinstance(found[-1], bytes):
        found[-1] += event.data
    else:
        found.append(event.data if isinstance(event, PartBytes) else event)
