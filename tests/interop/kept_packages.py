"""Packages of a foreign partner by their kinds: one of each is kept in `tests/golden/interop`."""

import re

ACTION = re.compile(rb"<eb:Action>(\w+)</eb:Action>")
CODE = re.compile(rb'eb:errorCode="(\w+)"')

seen: dict[str, bytes] = {}
"""What the partners of this session wrote, by kind: the first of each."""


def kind_of(package: bytes) -> str:
    """The Action and what else tells packages apart, as the name of a file."""
    action = ACTION.search(package)
    if action is None:
        return "Fault" if b":Fault>" in package else "unknown"
    words = [action[1].decode()]
    words += [code[1].decode() for code in CODE.finditer(package)]
    if package.startswith(b"Content-Type: multipart"):
        words.append("payload")
    if b":SyncReply " in package:
        words.append("sync")
    if b":Signature " in package:
        words.append("signed")
    return "-".join(words)


def note(package: bytes) -> None:
    """Remember it if it is the first of its kind."""
    seen.setdefault(kind_of(package), package)
