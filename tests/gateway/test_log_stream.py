"""The log's stream over descriptors that fail, stall and come back (ruling R-47)."""

import json
import os

import pytest

from onceonly.gateway.log_stream import BYTES_MAX, LogStream

PATIENCE_S = 20.0
LINE = "x" * 1023 + "\n"


@pytest.fixture
def pipe():
    """A pipe with both its ends open; whoever closes one says so."""
    ends = list(os.pipe())
    yield ends
    for end in ends:
        os.close(end)


def read_line(descriptor: int) -> str:
    line = b""
    while not line.endswith(b"\n"):
        line += os.read(descriptor, 1)
    return line.decode()


def test_lines_arrive_in_order(pipe):
    """Whatever characters they have."""
    stream = LogStream(pipe[1])
    for number in range(100):
        stream.write(f"line {number} \u00e9 \ud800\n")
    stream.settle(PATIENCE_S)
    assert [read_line(pipe[0]) for _ in range(100)] == [
        f"line {number} \u00e9 \\ud800\n" for number in range(100)
    ]


@pytest.mark.parametrize("kind", ["no reader", "full disk", "no descriptor"])
def test_what_cannot_be_written_is_lost_without_a_word(pipe, kind):
    """Neither raised to whoever writes nor waited for."""
    if kind == "no reader":
        os.close(pipe.pop(0))
    elif kind == "full disk":
        pipe.append(os.open("/dev/full", os.O_WRONLY))
    stream = LogStream(10_000 if kind == "no descriptor" else pipe[-1])
    for _ in range(10):
        assert stream.write(LINE) == len(LINE)
        stream.flush()
    stream.settle(PATIENCE_S)
    stream.close()
    stream.write(LINE)
    stream.settle(PATIENCE_S)


@pytest.mark.parametrize("is_blocking", [True, False])
def test_a_reader_that_comes_back_is_told_what_it_missed(pipe, is_blocking):
    """A full pipe holds nobody, what waits is bounded, and the loss is a line of its own."""
    read, write = pipe
    os.set_blocking(write, is_blocking)
    stream = LogStream(write)
    sent = 2 * BYTES_MAX // len(LINE)
    for _ in range(sent):
        stream.write(LINE)
    stream.settle(0.01)
    seen, told = 0, []
    # Each loss is told once the log can be written again, so as often as the reader pauses.
    while seen + sum(told) < sent:
        line = read_line_fast(read)
        if line == LINE:
            seen += 1
            continue
        loss = json.loads(line)
        assert loss["event"] == "log lines were lost"
        told.append(loss["count"])
    assert seen + sum(told) == sent
    assert min(told) > 0


def read_line_fast(descriptor: int) -> str:
    """A line of ours has 1,024 bytes; the one of a loss is shorter and begins with a brace."""
    first = os.read(descriptor, 1)
    if first == b"{":
        return "{" + read_line(descriptor)
    rest = b""
    while len(rest) < len(LINE) - 1:
        rest += os.read(descriptor, len(LINE) - 1 - len(rest))
    return (first + rest).decode()
