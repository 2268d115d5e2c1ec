"""Configuration files to read: the smallest one, a route for it, and any other text."""

from pathlib import Path

from onceonly.gateway.config import Configuration, read_configuration

SMALLEST = """\
[gateway]
party  = ["urn:duns:222222222"]
listen = "http://127.0.0.1:8401/msh"
api    = "http://127.0.0.1:8411"
store  = "seller.db"

[[agreement]]
id      = "tpa-ab-1"
with    = ["urn:duns:111111111"]
send_to = "http://127.0.0.1:8402/msh"
"""

ROUTE = """
[[route]]
id      = "north"
from    = ["urn:duns:333333333"]
to      = ["urn:duns:444444444"]
back_to = "http://127.0.0.1:8403/msh"
send_to = "http://127.0.0.1:8404/msh"
"""


def read(directory: Path, text: str) -> Configuration:
    """What a file with this text reads as."""
    path = directory / "gateway.toml"
    path.write_text(text, encoding="utf-8")
    return read_configuration(path)
