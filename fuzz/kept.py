"""Which of many inputs are kept: the fewest and smallest that reach all the lines that they reach.

Measured by Python itself and not by the fuzzer, so that the kept corpus does not depend on how
atheris counts. A step from one line of ours to another counts, not only the line.
"""

import sys
from hashlib import sha256
from pathlib import Path
from types import FrameType
from typing import Any

import onceonly
from fuzzing import CORPUS, judge
from targets import Fuzzed

FILES_MAX = 40
"""Found inputs per target, beside those written by hand."""

BYTES_MAX = 48 * 1024
"""Of them together: all corpora stay below a megabyte."""

_OURS = str(Path(onceonly.__file__).parent)

Step = tuple[str, int, int]


def grow(target: Fuzzed, found: Path) -> None:
    """Take from the folder `found` what adds to the target's corpus."""
    own = CORPUS / target.corpora[0]
    own.mkdir(parents=True, exist_ok=True)
    reached = set[Step]()
    for folder in target.folders:
        for path in sorted(folder.iterdir()):
            reached |= _steps(target, path.read_bytes())
    files = [path for path in own.iterdir() if len(path.name) == 16]
    count, size = len(files), sum(path.stat().st_size for path in files)
    for data in sorted({path.read_bytes() for path in found.iterdir()}, key=len):
        if count >= FILES_MAX or size + len(data) > BYTES_MAX:
            break
        new = _steps(target, data) - reached
        if new:
            reached |= new
            (own / sha256(data).hexdigest()[:16]).write_bytes(data)
            count, size = count + 1, size + len(data)


def _steps(target: Fuzzed, data: bytes) -> set[Step]:
    """The steps between lines of ours that the input takes."""
    steps = set[Step]()
    last: dict[FrameType, int] = {}

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        file = frame.f_code.co_filename
        if not file.startswith(_OURS):
            return None
        if event == "line":
            steps.add((file, last.get(frame, 0), frame.f_lineno))
            last[frame] = frame.f_lineno
        return trace

    sys.settrace(trace)
    try:
        judge(target.judge, data)
    finally:
        sys.settrace(None)
    return steps
