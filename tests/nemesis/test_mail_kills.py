"""kill -9 of gateways that exchange by mail: what came with no 250 comes again (C1, N15)."""

import pytest
from nemesis_evidence import check_exchange
from nemesis_faults import Form
from nemesis_figures import Say
from nemesis_gateways import Exchange, await_inbox
from nemesis_load import strike
from nemesis_ways import MAIL, use_mail


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
    acknowledgement, which is tried again too, may be there first."""
    use_mail(exchange)
    victim = exchange.gateway(role)
    victim.configure(f"{point}:1")
    exchange.start()
    with exchange.clients() as (ours, theirs):
        exchange.submit_if_up(ours, "by-mail")
        victim.await_death()
        if role == "receiver":
            # Whoever comes back first would acknowledge, and no mail would come again.
            exchange.sender.kill()
        victim.start()
        exchange.start()
        exchange.complete("by-mail")
        await_inbox(theirs, 1)
        duplicates = check_exchange(exchange).duplicates
    if role == "receiver":
        assert bool(duplicates) == (point == "after-commit")


@pytest.mark.full
def test_random_kills_lose_no_mail_and_double_none(
    exchange: Exchange, form: Form, say: Say
) -> None:
    """The same load as over HTTP, with the same evidence at its end."""
    use_mail(exchange)
    strike(exchange, MAIL, form.share(1), say)
