"""How long a package is, and that one without bytes is none."""

import pytest

from onceonly.message.message import Payload
from onceonly.message.package import Package

ORDER = Payload("order", "text/plain", 5, "00")
TERMS = Payload("terms", "text/plain", 70_000, "01")


def test_a_package_is_as_long_as_its_segments_and_payloads():
    """So that a Content-Length can go out before a payload is read."""
    package = Package("multipart/related; boundary=b", (b"head", b"between", b"end"))
    assert package.size_bytes((ORDER, TERMS)) == 4 + 5 + 7 + 70_000 + 3


def test_a_package_has_bytes_of_its_own():
    """Without a segment there is nothing to put payloads between."""
    with pytest.raises(AssertionError):
        Package("multipart/related; boundary=b", ())
