"""A validator that says nothing says nothing about the content (seed 004 level 0 b)."""

import socket
from hashlib import sha256

import pytest
from desks import desk_over

from onceonly.gateway.clock import Clock
from onceonly.gateway.incoming.validation import Validation
from onceonly.message.message import Payload
from onceonly.message.signals import Assurance
from onceonly.store.contract.entries import StoredPayload
from onceonly.store.group import GroupCommit
from onceonly.store.memory.store import MemoryStore
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
        store = MemoryStore(party="urn:us", clock_at=lambda: 0)
        group = GroupCommit(store, on_failure=print, thread=False)
        desk = desk_over(store, group, Clock(), "urn:us", Spool(tmp_path / "s"), transport)
        validation = Validation(desk, wait_s_max=0.05)
        validator = f"http://127.0.0.1:{silent.getsockname()[1]}/valid"
        assert await validation.assure(validator, [PART]) is Assurance.STRUCTURE
    await transport.close()
