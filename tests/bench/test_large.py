"""A signed message larger than the memory that two gateways may take for it."""

import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        not Path("/proc/self/status").exists(), reason="needs /proc to see what a process takes"
    ),
]

MEBIBYTES = 64
GROWTH_MIB_MAX = 16
"""Pieces on their way, and what Python keeps of them. Far from the payload, let alone twice it; and
the same for 1 GiB, which `python -m bench.large` tries."""


@pytest.fixture
def large(monkeypatch):
    """The bench is no part of the package; it lies beside it."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parents[2]), *sys.path])
    from bench import large  # noqa: PLC0415 - because its place is not on the path before

    return large


@pytest.mark.statement("E2-54")
def test_a_large_signed_message_passes_two_gateways_in_pieces(large, tmp_path):
    """Handed over by file, signed, verified, acknowledged with evidence, fetched: never in memory.

    What arrives is what was sent, or there are no figures.
    """
    figures = large.measure(tmp_path, MEBIBYTES)
    assert figures["payload_mib"] == MEBIBYTES
    assert figures["sender_growth_mib"] < GROWTH_MIB_MAX, figures
    assert figures["receiver_growth_mib"] < GROWTH_MIB_MAX, figures
