"""What the fuzz targets share: what counts as a bug, and how inputs are made without atheris.

Each target is a function of bytes that returns whatever the code under test makes of them. A named
error of ours is a verdict like any other; any other exception is a bug, and so is an input that
takes longer than `SECONDS_MAX` (ruling R-25; most bugs of parsers are bugs of availability).
`run.py` lets atheris make the inputs, guided by coverage. The seeded loop here mutates the kept
corpus instead: less clever, but the same everywhere and replayable from its seed, which is what a
test suite needs.
"""

import random
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from onceonly.message.errors import OnceonlyError
from onceonly.transport.http.refusal import HttpRefused
from onceonly.transport.mail.reply import MailRefused

CORPUS = Path(__file__).parent / "corpus"
SECONDS_MAX = 1.0
SIZE_MAX = 1 << 12
PIECES_MAX = 64
MUTATIONS_MAX = 8

NAMED_ERRORS = (OnceonlyError, HttpRefused, MailRefused)

# What parsers trip over: the pieces of the grammars, in right and wrong places.
TOKENS = (
    b"\r\n", b"\r\n\r\n", b"\n", b"\r", b"\0", b"--", b"--b", b"\r\n--b\r\n", b"\r\n--b--\r\n",
    b"Content-Type: ", b"Content-ID: <", b"Content-Transfer-Encoding: base64\r\n", b"QQ==", b";",
    b"=", b'"', b"\\", b"<", b">", b"</", b"/>", b"<!", b"<?", b"<!DOCTYPE r [", b"<![CDATA[",
    b"<!--", b"-->", b"&", b"&#0;", b"&#13;", b"&amp;", b"xmlns=''", b"xmlns:a='b'", b" ", b"\t",
    b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc0\xaf", b"000000000", b"9" * 40,
    b"20001002T240000Z", b"cid:", b"<MessageId>m</MessageId>", b"<Header/>", b"<a>" * 70,
    b"Transfer-Encoding: chunked\r\n", b"Content-Length: 4\r\n", b"0\r\n\r\n", b"\r\n.\r\n",
    b"MAIL FROM:<a@b.example>\r\n", b"RCPT TO:<msh@partner.example>\r\n", b"DATA\r\n", b"[" * 70,
    b"P1DT1H", b"1e999", b"[[agreement]]\n", b"-0", b"\xd9\xa3", b"\\ud800", b"NaN",
)  # fmt: skip

Target = Callable[[bytes], object]


class Slow(AssertionError):  # noqa: N818 - because it names the finding
    """An input took longer than any input may."""


def pieces_of(data: bytes) -> tuple[bytes, list[bytes]]:
    """What an input says about cuts: all but its first byte, whole and in pieces.

    The first byte is the size of the pieces, of which there are `PIECES_MAX` at most: a million
    inputs a day find more than a thousand cuts of one.
    """
    whole = data[1:]
    size = max(1, data[0] if data else 1, -(-len(whole) // PIECES_MAX))
    return whole, [whole[at : at + size] for at in range(0, len(whole), size)]


def judge(target: Target, data: bytes) -> bool:
    """Whether the input was accepted. Raises whatever bug it shows."""
    try:
        target(data)
    except NAMED_ERRORS:
        return False
    return True


def judge_in_time(target: Target, data: bytes) -> bool:
    """The same, and slowness is a bug too. CPU time, so that a busy machine is none."""
    started = time.process_time()
    is_accepted = judge(target, data)
    if time.process_time() - started > SECONDS_MAX:
        raise Slow(f"more than {SECONDS_MAX} s for {len(data)} bytes")
    return is_accepted


def seeds_of(folders: Iterable[Path]) -> list[bytes]:
    """The inputs of some corpora, in a fixed order."""
    return [path.read_bytes() for folder in folders for path in sorted(folder.iterdir())]


def fuzz(target: Target, seeds: list[bytes], runs: int, seed: int) -> int:
    """Try `runs` mutations of the seeds; the number that was accepted.

    A bug comes out as its own exception, with a note that holds the input.
    """
    chance = random.Random(seed)  # noqa: S311 - because the inputs must be replayable
    accepted = 0
    for _ in range(runs):
        data = mutated(chance, seeds)
        try:
            accepted += judge_in_time(target, data)
        except BaseException as bug:
            bug.add_note(f"the input: {data!r}")
            raise
    return accepted


def mutated(chance: random.Random, seeds: list[bytes]) -> bytes:
    """One of the seeds with a few things wrong."""
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.randint(0, MUTATIONS_MAX)):
        at = chance.randint(0, len(data))
        end = min(len(data), at + chance.choice((0, 1, 2, 8, 64, 512)))
        match chance.randrange(5):
            case 0:
                del data[at:end]
            case 1:
                data[at:end] = chance.choice(TOKENS)
            case 2:
                data[at:at] = data[at:end] * chance.choice((1, 2, 50))
            case 3:
                data[at : at + 1] = chance.randbytes(1)
            case _:
                other = chance.choice(seeds)
                start = chance.randint(0, len(other))
                data[at:end] = other[start : start + end - at]
    return bytes(data[:SIZE_MAX])
