"""A value is read in several threads at once, also when its type is read for the first time."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import onceonly

RACE = """
import sys, threading
from onceonly.api.decoding import converted, decoded

sys.setswitchinterval(1e-6)
FIELDS = "".join(f"    f{n}: 'int | None' = None\\n" for n in range(40))
TYPES = (
    f"import msgspec\\nclass Inner(msgspec.Struct):\\n{FIELDS}"
    "class Outer(msgspec.Struct):\\n    inner: 'Inner'\\n    more: 'list[Inner]'\\n"
)
READERS = {
    "decoded": lambda kind: decoded(b'{"inner": {"f1": 1}, "more": [{"f39": 2}]}', kind),
    "converted": lambda kind: converted({"inner": {"f1": 1}, "more": [{"f39": 2}]}, kind),
}
read = READERS[sys.argv[1]]

def first(begin):
    begin.wait()
    read(Outer)

for _ in range(100):
    exec(TYPES, globals())
    begin = threading.Barrier(4)
    threads = [threading.Thread(target=first, args=(begin,)) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
print("all are there")
"""
"""Types that nobody has read before, each read by four threads at once."""


@pytest.mark.parametrize("reader", ["decoded", "converted"])
def test_threads_that_read_a_new_type_at_once_do_not_end_the_process(reader: str):
    """As the two applications of the demonstration do with their first answers."""
    command = [sys.executable, "-c", RACE, reader]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "all are there\n", "")


def test_nothing_reads_a_type_in_another_way():
    """What msgspec is reading by itself may be half known to it."""
    [top] = onceonly.__path__
    reads = re.compile(r"msgspec\.(?:convert|(?:json|msgpack|toml|yaml)\.(?:decode|Decoder))\b")
    found = [
        f"{file.relative_to(top)}: {call}"
        for file in sorted(Path(top).rglob("*.py"))
        for call in reads.findall(file.read_text("utf-8"))
        if file.relative_to(top) != Path("api/decoding.py")
    ]
    assert not found, "by onceonly.api.decoding"
