"""Who may say what (R-44): every caller, under every agreement's name, by every entrance.

Two partners, A and B, whose agreements each ask for a certificate. Whatever B, or somebody without
one, says in A's name or about A's messages moves nothing of A's.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import packages
import packages_2001
import pytest
from asking import inquiry, report_of
from configuration_file import ROUTE, SMALLEST, read
from packages import Parcel
from peer import Peer
from peer_2001 import Peer2001
from running_gateway import RunningGateway, write_configuration

from onceonly.gateway.config import Configuration, read_configuration
from onceonly.message.agreement import Agreement
from onceonly.message.event import Event
from onceonly.message.word import changed
from onceonly.steps.authority import Answered, Caller, is_entitled
from onceonly.transport.transport import Answer, Request

pytestmark = [pytest.mark.anyio, pytest.mark.statement(ruling="R-44")]

OF_A, OF_B = "a" * 64, "b" * 64
"""Certificates."""

UNKNOWN = "nobodys-agreement"

Word = Callable[..., Parcel]


def _error(code: str, severity: str = "Error") -> Word:
    def word(by: Peer, ref: str, **fields: Any) -> Parcel:
        errors = packages.error_list(code, severity, None)
        return by.signal("Error", ref, errors=errors, **fields)

    return word


def _error_2001(code: str, severity: str = "Error") -> Word:
    def word(by: Peer2001, ref: str, **fields: Any) -> Parcel:
        errors = packages_2001.error_list(code, severity)
        return by.signal_2001(ref, packages_2001.ERROR, particulars=errors, **fields)

    return word


def _signal(kind: str) -> Word:
    return lambda by, ref, **fields: by.signal(kind, ref, **fields)


def _signal_2001(action: str, service: str) -> Word:
    words = (f"{packages_2001.SERVICES}{service}", action)
    return lambda by, ref, **fields: by.signal_2001(ref, words, **fields)


WORDS_2000: dict[str, Word] = {
    "acknowledgement": _signal("Acknowledgement"),
    "refusal": _error("ValueNotRecognized"),
    "wrong number": _error("InvalidSequenceNumber"),
    "put off": _error("TransientError"),
    "failure": _error("DeliveryFailure"),
    "failure, perhaps": _error("DeliveryFailure", "Warning"),
}
WORDS_2001: dict[str, Word] = {
    "acknowledgement": _signal_2001("Acknowledgment", "MessageAcknowledgment"),
    "receipt": _signal_2001("DeliveryReceipt", "DeliveryReceipt"),
    "refusal": _error_2001("ValueNotRecognized"),
    "put off": _error_2001("TransientError"),
    "failure": _error_2001("DeliveryFailure"),
    "failure, perhaps": _error_2001("DeliveryFailure", "Warning"),
}


class Says(NamedTuple):
    """How something is said: by which entrance, with which certificate, in whose name."""

    transport: str
    certificate: str | None
    names: str
    """Whose URIs stand in the package."""
    agreement: str

    def is_the_partner_of_a(self) -> bool:
        return self == Says("https", OF_A, "A", "agreement of A")


def every_way() -> Iterator[Says]:
    """Every caller under every name."""
    entrances = (("https", OF_A), ("https", OF_B), ("https", None), ("smtp", None), ("amqp", None))
    agreements = ("agreement of A", "agreement of B", UNKNOWN)
    for (transport, certificate), names, agreement in product(entrances, "AB", agreements):
        yield Says(transport, certificate, names, agreement)


class Stage(NamedTuple):
    """The gateway between the two."""

    gateway: RunningGateway
    a: Peer
    b: Peer
    words: dict[str, Word]

    async def say(self, how: Says, word: Word, ref: str) -> Answer:
        by = self.a if how.names == "A" else self.b
        return await self.bring(how, word(by, ref, agreement=self.named(how.agreement)))

    def named(self, agreement: str) -> str:
        return {
            "agreement of A": self.a.agreement,
            "agreement of B": self.b.agreement,
        }.get(agreement, agreement)

    async def bring(self, how: Says, parcel: Parcel) -> Answer:
        """The package at the door."""
        request = Request(
            parcel.content_type, len(parcel.body), "192.0.2.9:4711", how.transport, how.certificate
        )
        return await self.gateway.parts.receiver.receive(request, body_of(parcel))

    def standing(self, message_id: str) -> object:
        """Everything about A's message and its pair that somebody's word could move."""
        snapshot = self.gateway.store.snapshot()
        view = snapshot.find_outbound_view(message_id)
        assert view is not None
        return (
            changed(view.state, due_ns=None),
            snapshot.list_pairs(),
            snapshot.list_notices(0, 10),
            snapshot.list_incidents(is_open=False),
        )

    async def nobody_was_told(self) -> None:
        await self.gateway.everything_said()
        assert not self.a.has_unheard()
        assert not self.b.has_unheard()


async def body_of(parcel: Parcel) -> AsyncIterator[bytes]:
    yield parcel.body


def certified(configuration: Configuration, a: Peer, b: Peer) -> Configuration:
    """Each agreement asks for its partner's certificate."""
    of = {a.agreement: OF_A, b.agreement: OF_B}
    agreements = tuple(
        changed(one, caller_certificate=(of[one.id],)) for one in configuration.agreements
    )
    return replace(configuration, agreements=agreements)


@asynccontextmanager
async def staged(tmp_path, profile: str, **terms: Any) -> AsyncIterator[Stage]:
    is_old = profile == "rm-2000"
    if is_old:
        a, b = Peer("urn:duns:111111111", "tpa-a"), Peer("urn:duns:333333333", "tpa-b")
    else:
        a = Peer2001("urn:duns:111111111", "cpa-a")
        b = Peer2001("urn:duns:333333333", "cpa-b")
    keys = {"profile": profile, "inquire_status": True, **terms}
    path = write_configuration(tmp_path, (a, b), keys)
    gateway = RunningGateway(certified(read_configuration(path), a, b))
    for one in (a, b):
        await one.listen()
        one.gateway_uri = gateway.uri
    await gateway.start()
    try:
        yield Stage(gateway, a, b, WORDS_2000 if is_old else WORDS_2001)
    finally:
        await gateway.stop(0.0)
        await a.close()
        await b.close()


@pytest.fixture(params=["rm-2000", "rm-2001"])
async def stage(request, tmp_path):
    async with staged(tmp_path, request.param) as one:
        yield one


async def test_nobody_but_the_partner_moves_its_message(stage: Stage):
    """Every signal, by every caller, under every name but the partner's own under its own."""
    message_id = await stage.gateway.submit(b"<a/>", to=stage.a)
    await stage.a.hear()
    await stage.gateway.until_row(Event.TRANSMITTED)
    before = stage.standing(message_id)
    for how in every_way():
        if how.is_the_partner_of_a():
            continue
        for name, word in stage.words.items():
            answer = await stage.say(how, word, message_id)
            assert stage.standing(message_id) == before, (how, name)
            assert answer.body is None, (how, name)
    await stage.nobody_was_told()
    own = Says("https", OF_A, "A", "agreement of A")
    await stage.say(own, stage.words["acknowledgement"], message_id)
    assert stage.gateway.state_of(message_id) == "acknowledged"


async def test_a_signal_without_a_name_has_the_agreement_of_its_message(stage: Stage):
    """It counts if its caller is entitled by that, and by no other."""
    message_id = await stage.gateway.submit(b"<a/>", to=stage.a)
    await stage.a.hear()
    await stage.gateway.until_row(Event.TRANSMITTED)
    for certificate in (OF_B, None):
        how = Says("https", certificate, "A", "")
        await stage.say(how, stage.words["acknowledgement"], message_id)
        assert stage.gateway.state_of(message_id) == "sending"
    await stage.say(Says("https", OF_A, "A", ""), stage.words["acknowledgement"], message_id)
    assert stage.gateway.state_of(message_id) == "acknowledged"


async def test_nobody_but_the_partner_brings_its_messages(stage: Stage):
    """A message in A's name by B, or by mail, is not stored, and A hears of no refusal."""
    for how in every_way():
        if how[:3] in (("https", OF_A, "A"), ("https", OF_B, "B")):
            continue  # It is that partner itself.
        by = stage.a if how.names == "A" else stage.b
        agreement = stage.named(how.agreement)
        if isinstance(by, Peer2001):
            parcel = by.business("m-1@a.example.com", agreement=agreement)
        else:
            parcel = by.normal("m-1@a.example.com", 1, agreement=agreement)
        answer = await stage.bring(how, parcel)
        assert answer.status_code >= 400, how
        stage.gateway.assert_nothing_stored()
    await stage.nobody_was_told()


def _is_a_partner(how: Says) -> bool:
    return how[:3] in (("https", OF_A, "A"), ("https", OF_B, "B"))


@pytest.mark.parametrize("kind", ["StatusRequest", "CancelRequest", "ResponseRequest", "Ping"])
async def test_nobody_but_the_partner_asks_about_its_messages(tmp_path, kind):
    """A question is answered to the partner whose names and certificate ask it, and changes his."""
    async with staged(tmp_path, "rm-2000") as stage:
        own = Says("https", OF_A, "A", "agreement of A")
        await stage.bring(own, stage.a.normal("m-1@a.example.com", 1))
        assert (await stage.a.hear()).kind == "Acknowledgement"
        before = stage.gateway.rows(Event.REPORT_SENT)
        for how in every_way():
            by = stage.a if how.names == "A" else stage.b
            if _is_a_partner(how) and stage.named(how.agreement) == by.agreement:
                continue
            about = "" if kind == "Ping" else "m-1@a.example.com"
            await stage.bring(how, inquiry(by, kind, about, agreement=stage.named(how.agreement)))
            await stage.gateway.everything_said()
            assert stage.gateway.rows(Event.REPORT_SENT) == before, how
        await stage.nobody_was_told()


async def test_an_answer_speaks_of_its_own_exchange_alone(stage: Stage):
    """What B brings back in the answer to our POST moves nothing of A's, in whatever name."""
    to_a = await stage.gateway.submit(b"<a/>", to=stage.a)
    to_b = await stage.gateway.submit(b"<b/>", to=stage.b)
    await stage.a.hear()
    await stage.b.hear()
    await stage.gateway.until_row(Event.TRANSMITTED, 2)
    before = stage.standing(to_a)
    receive = stage.gateway.parts.receiver.receive_reply
    exchange = Answered(to_b, stage.b.agreement)
    for names, agreement, (name, word) in product(
        "AB", ("agreement of A", "agreement of B", UNKNOWN, ""), stage.words.items()
    ):
        by = stage.a if names == "A" else stage.b
        parcel = word(by, to_a, agreement=stage.named(agreement))
        request = Request(parcel.content_type, len(parcel.body), stage.b.uri, "http")
        await receive(request, body_of(parcel), exchange)
        assert stage.standing(to_a) == before, (names, agreement, name)
    await stage.nobody_was_told()
    own = stage.words["acknowledgement"](stage.b, to_b, agreement=stage.b.agreement)
    request = Request(own.content_type, len(own.body), stage.b.uri, "http")
    await receive(request, body_of(own), exchange)
    assert stage.gateway.state_of(to_b) == "acknowledged"


async def test_mail_is_heard_where_the_agreement_says_so(tmp_path):
    """`entrances` opens a way on which no certificate can be shown."""
    async with staged(tmp_path, "rm-2000") as stage:
        agreements = stage.gateway.parts.desk.house.agreements
        (of_a,) = [one for one in agreements if one.id == stage.a.agreement]
        by_mail = Caller("smtp", "192.0.2.9:4711")
        by_broker = Caller("amqp", "queue")
        opened = changed(of_a, entrances=("https", "mail"))
        assert not is_entitled(by_mail, of_a)
        assert is_entitled(by_mail, opened)
        assert not is_entitled(by_broker, opened)
        assert not is_entitled(Caller("https", "192.0.2.9:4711"), opened)


def agreement_of(tmp_path, **keys: Any) -> Agreement:
    (agreement,) = read(tmp_path, SMALLEST).agreements
    return changed(agreement, **keys)


@pytest.mark.parametrize("transport", ["http", "https", "smtp", "amqp", "loopback"])
async def test_where_nothing_is_asked_everybody_may_speak(tmp_path, transport):
    """Identity is then what the names say; the documents tell so."""
    agreement = agreement_of(tmp_path)
    assert is_entitled(Caller(transport, "192.0.2.9:4711"), agreement)


async def test_a_list_lets_two_certificates_in(tmp_path):
    """The next one is known before the partner changes to it."""
    agreement = agreement_of(tmp_path, caller_certificate=(OF_A, OF_B))
    for certificate, may in ((OF_A, True), (OF_B, True), ("c" * 64, False), (None, False)):
        assert is_entitled(Caller("https", "192.0.2.9:1", certificate), agreement) is may


# --- Routes -------------------------------------------------------------------------------------

ORIGIN, FINAL = "urn:duns:333333333", "urn:duns:444444444"


class Road(NamedTuple):
    """An intermediary between an origin, A, and a next hop, B."""

    gateway: RunningGateway
    a: Peer
    b: Peer

    async def bring(self, certificate: str | None, parcel: Parcel) -> Answer:
        request = Request(
            parcel.content_type, len(parcel.body), "192.0.2.9:4711", "https", certificate
        )
        return await self.gateway.parts.receiver.receive(request, body_of(parcel))


@pytest.fixture
async def road(tmp_path):
    a, b = Peer(ORIGIN, "tpa-ab"), Peer(FINAL, "tpa-ab")
    a.gateway_party, b.gateway_party = FINAL, ORIGIN
    path = write_configuration(tmp_path, ())
    there = ROUTE.replace("http://127.0.0.1:8403/msh", a.uri).replace(
        "http://127.0.0.1:8404/msh", b.uri
    )
    path.write_text(path.read_text("utf-8") + there, "utf-8")
    configuration = read_configuration(path)
    (route,) = configuration.routes
    route = changed(route, caller_certificate=(OF_A,), next_hop_certificate=(OF_B,))
    gateway = RunningGateway(replace(configuration, routes=(route,)))
    for one in (a, b):
        await one.listen()
        one.gateway_uri = gateway.uri
    await gateway.start()
    yield Road(gateway, a, b)
    await gateway.stop(0.0)
    await a.close()
    await b.close()


async def test_a_route_carries_what_its_previous_hop_brings(road: Road):
    """And what its next hop says about it goes back; the two do not speak for one another."""
    parcel = road.a.normal("m-1@a.example.com", 1)
    for certificate in (OF_B, "c" * 64, None):
        assert (await road.bring(certificate, parcel)).status_code == 403
    assert (await road.bring(OF_A, parcel)).status_code == 204
    arrival = await road.b.hear("Normal")
    assert arrival.message_id == "m-1@a.example.com"
    acknowledgement = road.b.signal("Acknowledgement", "m-1@a.example.com")
    for certificate in (OF_A, "c" * 64, None):
        await road.bring(certificate, acknowledgement)
        await road.gateway.everything_said()
        assert not road.a.has_unheard()
    await road.bring(OF_B, acknowledgement)
    assert (await road.a.hear("Acknowledgement")).ref == "m-1@a.example.com"


async def test_only_the_previous_hop_of_a_route_is_answered(road: Road):
    """A question about what passed is answered to whoever brought it, and to nobody else."""
    await road.bring(OF_A, road.a.normal("m-1@a.example.com", 1))
    await road.b.hear("Normal")
    question = inquiry(road.a, "StatusRequest", "m-1@a.example.com")
    for certificate in (OF_B, None):
        await road.bring(certificate, question)
        await road.gateway.everything_said()
        assert not road.a.has_unheard()
        assert not road.b.has_unheard()
    await road.bring(OF_A, question)
    assert report_of(await road.a.hear("StatusResponse"))["status"] == "Forwarded"


@pytest.mark.parametrize("kind", ["StatusRequest", "Ping"])
async def test_a_previous_hop_may_call_itself_by_a_name_that_is_no_uri(road: Road, kind):
    """It is answered under the address that the route has for it (R-43: it once ended us)."""
    (route,) = road.gateway.configuration.routes
    about = "" if kind == "Ping" else "m-1@a.example.com"
    question = inquiry(road.a, kind, about)
    body = question.body.replace(
        f"<PartyId>{road.a.uri}</PartyId>".encode(),
        b'<PartyId type="a_b">4711</PartyId>',
        1,
    )
    assert body != question.body
    await road.bring(OF_A, Parcel(question.content_type, body))
    await road.gateway.everything_said()
    assert not road.gateway._bugs
    assert route.from_ids
