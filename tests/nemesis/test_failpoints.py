"""Every named failpoint: the process dies there, and the exchange completes exactly once.

The points lie where the meaning changes: between a write and its commit, a commit and what it
releases, a transmission and its note, an acknowledgement and the hand-over.
"""

import signal

import pytest
from nemesis_evidence import check_exchange
from nemesis_gateways import DEATH_S, Exchange, Gateway, insist
from nemesis_points import BULK, FOLDERS, NOTICE, ORDINARY, PURGE, RECEIPT, RECOVERY, WEBHOOKS

from onceonly.client import Client, GatewayUnreachable
from onceonly.gateway.drill import POINTS


def test_every_failpoint_is_tried() -> None:
    """A new point without a case here would be a point that nobody has died at."""
    recovery = [point for point, _ in RECOVERY]
    folders = [point for point, _ in FOLDERS]
    beside = {*BULK, *folders, *WEBHOOKS}
    assert {*ORDINARY, *recovery, *RECEIPT, *NOTICE, *PURGE, *beside} == set(POINTS)


def provoke(exchange: Exchange, victim: Gateway, point: str, message_id: str) -> None:
    """Lead the victim to the point."""
    with exchange.clients() as (ours, _):
        exchange.submit_if_up(ours, message_id)
    if point.endswith("publish"):
        with Client(victim.site.api) as client, pytest.raises(GatewayUnreachable):
            client.publish()


@pytest.mark.statement("S0-01", "S0-02", "S0-04", "S0-09", "S1-04", "S3-02", ruling="R-02")
@pytest.mark.parametrize(
    ("point", "role"), [(point, role) for point, roles in ORDINARY.items() for role in roles]
)
def test_a_death_at_a_failpoint_is_survived(lasting: Exchange, point: str, role: str) -> None:
    """Killed exactly there; after the restart the message is complete, once."""
    victim, message_id = lasting.gateway(role), f"{point}-{role}"
    victim.kill()
    victim.configure(f"{point}:1")
    victim.start()
    provoke(lasting, victim, point, message_id)
    assert victim.wait_for_end(DEATH_S) == -signal.SIGKILL, victim.log_end()
    victim.configure()
    victim.start()
    lasting.complete(message_id)
    check_exchange(lasting)
    with Client(victim.site.api) as client:
        insist(client.publish)
        assert client.publish() == 0
