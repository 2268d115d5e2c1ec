"""kill -9 of gateways that exchange by mail: what came with no 250 comes again (C1, N15)."""

import pytest
from nemesis_evidence import check_exchange, fetch_journal
from nemesis_faults import Form
from nemesis_figures import Say
from nemesis_gateways import Exchange, await_inbox, until
from nemesis_load import strike
from nemesis_ways import MAIL, use_mail

from onceonly.client import Client
from onceonly.demo.gateways import free_ports
from onceonly.message.event import Event


def events(client: Client) -> set[Event]:
    """What a gateway has written into its journal by now."""
    return {row.event for row in fetch_journal(client)}


@pytest.mark.statement("S1-26", "S1-32", ruling="R-02")
@pytest.mark.parametrize(
    ("role", "point"),
    [("receiver", "before-commit"), ("receiver", "after-commit"), ("sender", "after-transmit")],
)
def test_a_death_around_the_answer_to_a_mail_is_survived(
    exchange: Exchange, role: str, point: str
) -> None:
    """Killed before its commit, or between the commit and the 250, or the sender behind it: the
    mail comes again, and what was stored is a duplicate then. Behind the sender's death the
    acknowledgement may be there first."""
    use_mail(exchange)
    victim = exchange.gateway(role)
    way_back = dict(victim.tables["smtp"])
    if role == "receiver":
        # Its acknowledgement is tried again as well: where it is there first no mail comes again.
        victim.tables["smtp"]["relay"] = f"smtp://127.0.0.1:{free_ports(1)[0]}"
    victim.configure(f"{point}:1")
    exchange.start()
    with exchange.clients() as (ours, theirs):
        exchange.submit_if_up(ours, "by-mail")
        victim.await_death()
        victim.start()
        if role == "receiver":
            awaited = Event.DUPLICATE_ELIMINATED if point == "after-commit" else Event.STORED
            until(lambda: awaited in events(theirs), f"the mail comes again: {awaited}")
            victim.tables["smtp"] = way_back
            victim.restart()
        exchange.start()
        exchange.complete("by-mail")
        await_inbox(theirs, 1)
        [stored] = [row for row in fetch_journal(theirs) if row.event is Event.STORED]
        check_exchange(exchange)
    if role == "receiver":
        assert stored.store_epoch == (1 if point == "after-commit" else 2)


@pytest.mark.full
def test_random_kills_lose_no_mail_and_double_none(
    exchange: Exchange, form: Form, say: Say
) -> None:
    """The same load as over HTTP, with the same evidence at its end."""
    use_mail(exchange)
    strike(exchange, MAIL, form.share(1), say)
