"""Configuration files to read: the smallest one, its parts, a route for it, and any other text."""

import re
from pathlib import Path

import pytest

from onceonly.gateway.config import Configuration, ConfigurationError, read_configuration

GATEWAY = """\
[gateway]
party  = ["urn:duns:222222222"]
listen = "http://127.0.0.1:8401/msh"
api    = "http://127.0.0.1:8411"
store  = "seller.db"
"""

AGREEMENT = """
[[agreement]]
id      = "tpa-ab-1"
with    = ["urn:duns:111111111"]
"""

SEND_TO = 'send_to = "http://127.0.0.1:8402/msh"\n'
SMALLEST = GATEWAY + AGREEMENT + SEND_TO

ROUTE = """
[[route]]
id      = "north"
from    = ["urn:duns:333333333"]
to      = ["urn:duns:444444444"]
back_to = "http://127.0.0.1:8403/msh"
send_to = "http://127.0.0.1:8404/msh"
"""


NEW = 'profile = "rm-2001"'
LIVES = 'time_to_live = "P7D"'
BROKER = 'send_to = "amqp://broker.example/vhost?routing_key=x"'
TRANSPORT = f'{NEW}\n{BROKER}\nreliable_messaging_method = "Transport"'


def agreement(*lines: str) -> str:
    """A whole file whose agreement has these lines."""
    given = "\n".join(lines)
    has_address = re.search("^send_to =", given, re.MULTILINE)
    return GATEWAY + AGREEMENT + ("" if has_address else SEND_TO) + given + "\n"


def read(directory: Path, text: str) -> Configuration:
    """What a file with this text reads as."""
    path = directory / "gateway.toml"
    path.write_text(text, encoding="utf-8")
    return read_configuration(path)


def refusal(directory: Path, text: str) -> tuple[int | None, str]:
    """The line that is named, and the reason."""
    with pytest.raises(ConfigurationError) as caught:
        read(directory, text)
    line = re.search(r"gateway\.toml:(\d+)$", caught.value.where)
    return (int(line[1]) if line else None), caught.value.reason
