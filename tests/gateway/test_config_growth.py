"""What reading a configuration takes grows with its length, and no faster: counted, not timed."""

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from configuration_file import GATEWAY

from onceonly.gateway.config import (
    ConfigurationError,
    read_client_settings,
    read_configuration,
)

FEW, TIMES = 200, 4
"""Few are more than the addresses that `urlsplit` remembers, which would be too cheap."""

MOST = TIMES * 1.05
"""How many times the calls may be for `TIMES` as many tables; twice each by each would be 16."""

PARTNERS = [f"urn:duns:{number}" for number in range(FEW * TIMES)]


def partners(count: int) -> str:
    """Agreements with a partner each."""
    return GATEWAY + "".join(
        f'[[agreement]]\nid = "tpa-{n}"\nwith = ["{PARTNERS[n]}", "urn:alias:{n}"]\n'
        f'send_to = "http://127.0.0.1:8402/{n}"\n'
        for n in range(count)
    )


def one_partner(count: int) -> str:
    """Agreements that are all with one partner."""
    return GATEWAY + "".join(
        f'[[agreement]]\nid = "tpa-{n}"\nwith = ["urn:duns:1"]\n'
        'send_to = "http://127.0.0.1:8402/msh"\n'
        for n in range(count)
    )


def routes(count: int) -> str:
    """Agreements, and routes between the partners of two of them each, there and back."""
    return partners(count) + "".join(
        f'[[route]]\nid = "route-{n}"\nfrom = ["{PARTNERS[n]}"]\nto = ["{PARTNERS[n - 1]}"]\n'
        'back_to = "http://127.0.0.1:8403/msh"\nsend_to = "http://127.0.0.1:8404/msh"\n'
        for n in range(count)
    )


def one_route(count: int) -> str:
    """Routes between the same two parties, each for an agreement of its own."""
    return GATEWAY + "".join(
        f'[[route]]\nid = "route-{n}"\nagreement = "cpa-{n}"\n'
        'from = ["urn:duns:1"]\nto = ["urn:duns:2"]\n'
        'back_to = "http://127.0.0.1:8403/msh"\nsend_to = "http://127.0.0.1:8404/msh"\n'
        for n in range(count)
    )


def refused(count: int) -> str:
    """Agreements of which the last one is wrong."""
    return partners(count) + "timeout = 0\n"


def calls(read: Callable[[Path], object], path: Path, text: str) -> int:
    """How many functions are called, of Python's and below it, to read this text."""
    path.write_text(text, encoding="utf-8")
    counted = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        with suppress(ConfigurationError):
            read(path)
    finally:
        sys.setprofile(before)
    return counted


@pytest.mark.parametrize("shape", [partners, one_partner, routes, one_route, refused])
@pytest.mark.parametrize("read", [read_configuration, read_client_settings])
def test_reading_is_linear_in_the_tables(tmp_path, read, shape):
    """Four times as many agreements or routes take four times as many calls."""
    path = tmp_path / "gateway.toml"
    read_configuration(write_smallest(path))  # What is imported or compiled once is not counted.
    few = calls(read, path, shape(FEW))
    many = calls(read, path, shape(FEW * TIMES))
    assert many <= few * MOST


def write_smallest(path: Path) -> Path:
    """A file with one agreement."""
    path.write_text(partners(1), encoding="utf-8")
    return path


def test_a_client_command_does_not_look_at_agreements(tmp_path):
    """What is only parsed as TOML takes a third of what is checked, at most."""
    path = tmp_path / "gateway.toml"
    whole = calls(read_configuration, path, partners(FEW))
    assert calls(read_client_settings, path, partners(FEW)) <= whole / 3


def test_a_client_finds_the_address_the_token_and_the_lake(tmp_path):
    """As the whole configuration has them, with the same defaults."""
    path = tmp_path / "gateway.toml"
    for more in ("", 'api_token = "secret"\nlake = "s3://bucket/lake"\n'):
        path.write_text(GATEWAY + more + partners(2).removeprefix(GATEWAY), encoding="utf-8")
        whole, found = read_configuration(path), read_client_settings(path)
        assert (found.api, found.api_token) == (whole.api, whole.api_token)
        assert found.lake == whole.lake


def test_a_client_refuses_a_wrong_gateway_table_with_its_line(tmp_path):
    """The table that it reads is checked key by key."""
    path = tmp_path / "gateway.toml"
    path.write_text(GATEWAY + "queued_max = 0\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=rf"{path}:6: \[gateway\] queued_max"):
        read_client_settings(path)
