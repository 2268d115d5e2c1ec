"""What the fuzz targets share: how inputs are made, and what counts as a bug.

Each target is a function of bytes that returns whatever the code under test makes of them. A
`RemoteError` is a verdict like any other; any other exception is a bug, and so is an input that
takes longer than `SECONDS_MAX` (ruling R-25; most bugs of parsers are bugs of availability).
With atheris installed it makes the inputs, guided by coverage. Without it a seeded loop mutates
the corpus: less clever, but the same everywhere and replayable from its seed.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from onceonly.message.errors import RemoteError

CORPUS = Path(__file__).parent / "corpus"
SECONDS_MAX = 1.0
SIZE_MAX = 1 << 14
MUTATIONS_MAX = 8

# What parsers trip over: the pieces of both grammars, in right and wrong places.
TOKENS = (
    b"\r\n", b"\r\n\r\n", b"\n", b"\r", b"\0", b"--", b"--b", b"\r\n--b\r\n", b"\r\n--b--\r\n",
    b"Content-Type: ", b"Content-ID: <", b"Content-Transfer-Encoding: base64\r\n", b"QQ==", b";",
    b"=", b'"', b"\\", b"<", b">", b"</", b"/>", b"<!", b"<?", b"<!DOCTYPE r [", b"<![CDATA[",
    b"<!--", b"-->", b"&", b"&#0;", b"&#13;", b"&amp;", b"xmlns=''", b"xmlns:a='b'", b" ", b"\t",
    b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc0\xaf", b"000000000", b"9" * 40,
    b"20001002T240000Z", b"cid:", b"<MessageId>m</MessageId>", b"<Header/>", b"<a>" * 70,
)  # fmt: skip

Target = Callable[[bytes], object]


def run(target: Target, corpus: str) -> None:
    """Fuzz `target`, starting from the files of the corpus of that name."""
    folder = CORPUS / corpus
    try:
        import atheris  # noqa: PLC0415 - because it is optional and its loop takes the process over
    except ImportError:
        _run_seeded(target, folder)
        return
    atheris.instrument_all()
    atheris.Setup([*sys.argv, str(folder)], lambda data: judge_in_time(target, data))
    atheris.Fuzz()


def judge(target: Target, data: bytes) -> bool:
    """Whether the input was accepted. Raises whatever bug it shows."""
    try:
        target(data)
    except RemoteError:
        return False
    return True


def judge_in_time(target: Target, data: bytes) -> bool:
    """The same, and slowness is a bug too. CPU time, so that a busy machine is none."""
    started = time.process_time()
    is_accepted = judge(target, data)
    if time.process_time() - started > SECONDS_MAX:
        raise TimeoutError(f"more than {SECONDS_MAX} s for {len(data)} bytes")
    return is_accepted


def _run_seeded(target: Target, folder: Path) -> None:
    parser = argparse.ArgumentParser(description=target.__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    accepted = fuzz(target, seeds_of(folder), arguments.runs, arguments.seed)
    sys.stdout.write(f"{arguments.runs} inputs, {accepted} accepted, no bug\n")


def seeds_of(folder: Path) -> list[bytes]:
    """The inputs of a corpus, in a fixed order."""
    return [path.read_bytes() for path in sorted(folder.iterdir())]


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
