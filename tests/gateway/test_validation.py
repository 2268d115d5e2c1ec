"""A validator that says nothing says nothing about the content (seed 004 level 0 b)."""

import socket
from hashlib import sha256

import pytest

from onceonly.gateway.receiving.validation import Validation
from onceonly.message.message import Payload
from onceonly.message.signals import Assurance
from onceonly.store.contract.entries import StoredPayload
from onceonly.store.spool import Spool
from onceonly.transport.http.client import HttpTransport

pytestmark = pytest.mark.anyio

ORDER = b"<Order/>"
PART = StoredPayload(
    Payload("order", "application/xml", len(ORDER), sha256(ORDER).hexdigest()), ORDER
)


async def test_a_validator_that_never_answers_is_not_waited_for(tmp_path):
    """The partner waits meanwhile, so the structure is all that is acknowledged."""
    transport = HttpTransport()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        validation = Validation(transport=transport, spool=Spool(tmp_path / "s"), wait_s_max=0.05)
        validator = f"http://127.0.0.1:{silent.getsockname()[1]}/valid"
        assert await validation.assure(validator, [PART]) is Assurance.STRUCTURE
    await transport.close()
