"""What a decoder lets through can be written by everything that writes it later (R-25, R-43).

One grammar per thing: a value that passed the door meets no second one behind it. Whole packages
with odd fields go through the real decoder. Whatever comes out is kept, shown, encoded, spoken
about and carried. A `RemoteError` at the door is a verdict; any other exception, and a
`RemoteError` behind the door, is a finding.
"""

import asyncio
import json
import re
import sqlite3
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import httpx
import pyarrow as pa
import pytest
import structlog
from desks import OUR_URI, desk_over
from hypothesis import given, settings
from hypothesis import strategies as st
from mailing import MailSystem
from msgspec import to_builtins
from odd_packages import KINDS, Fields, parcel, values_for
from odd_stage import MAILBOX, Neighbour, trouble_of
from starlette.responses import Response

from onceonly.gateway import shapes
from onceonly.gateway.api.answers import Json
from onceonly.gateway.api.arrow import inbox_stream, journal_stream
from onceonly.gateway.application.inbox import WholeItem
from onceonly.gateway.clock import Clock
from onceonly.gateway.incoming.errors import Errors
from onceonly.gateway.mail import MailTransport
from onceonly.gateway.office import BytesBody
from onceonly.gateway.outgoing.package_body import PackageBody
from onceonly.gateway.sent_mails import SentMails
from onceonly.journal.record import Record
from onceonly.journal.segment import to_parquet, to_records, to_table
from onceonly.message.agreement import Agreement
from onceonly.message.digest import content_digest
from onceonly.message.errors import ErrorCode, OnceonlyError, RemoteError, Severity
from onceonly.message.event import Direction, Event
from onceonly.message.instant import Now
from onceonly.message.message import Message
from onceonly.message.package import Package
from onceonly.message.profile import Profile, profile_named
from onceonly.message.signals import (
    Inquiry,
    InquiryKind,
    MessageStatus,
    Report,
    ReportedProcessing,
)
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import Word, changed
from onceonly.protocol import schedule
from onceonly.protocol.effects import Answer, Journal
from onceonly.protocol.relaying import Transit
from onceonly.protocol.sending import Outbound
from onceonly.steps.agreements import AdmittedMessage, Agreements
from onceonly.steps.ground import Ground
from onceonly.steps.rows import Rows
from onceonly.steps.signals import (
    acknowledgment,
    encoded,
    failure_notice,
    hop_back,
    hop_to,
    receipt,
    signal_header,
)
from onceonly.store.contract.entries import OwedNotice, StoredPayload, TransitEntry
from onceonly.store.contract.store import Store, Transaction
from onceonly.store.group import GroupCommit
from onceonly.store.memory.store import MemoryStore
from onceonly.store.spool import Spool
from onceonly.store.sqlite.store import SqliteStore, open_sqlite
from onceonly.transport.broker import client as amqp_client
from onceonly.transport.http.client import HttpTransport
from onceonly.transport.mail.client import SmtpTransport
from onceonly.transport.transport import Outcome, Outgoing, Transmission
from onceonly.wire.envelope import About, Decoder, Envelope, boundary_for, encode, forward
from onceonly.wire.header_digest import digests_of

US = "urn:duns:222222222"
PROFILES = ("rm-2000", "rm-2001")
TOKEN = "0123456789abcdef0123456789abcdef"
ADDRESSES: Fields = {
    "from_party": "urn:duns:111111111",
    "to_party": US,
    "agreement": "agreed-1",
    "message_id": "m-1@a.example.com",
    "sender_uri": "http://them.example/msh",
    "error_uri": "http://them.example/msh",
    "receiver_uri": OUR_URI,
    "number": "1",
    "ref": "m-0@us.example",
    "about": "m-0@us.example",
}
ONE_LINE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]*")
HEADER_VALUE = re.compile(r"[\t -~\x80-\xff]*")

Odd = tuple[str, dict[str, str]]
"""A kind of package, and what is odd about it."""

few = settings(max_examples=20, derandomize=True, print_blob=True)
"""The same examples each time, each of them many packages."""


def every_value(profile: str, only: Sequence[str] = ()) -> list[Odd]:
    """Every odd value of every field of the profile, in a message and in a signal that have it."""
    kinds = [name for name, kind in KINDS.items() if kind.profile == profile]
    messages = [name for name in kinds if KINDS[name].is_message]
    signals = [name for name in kinds if not KINDS[name].is_message]
    found: list[Odd] = []
    for field in only or dict.fromkeys(field for kind in kinds for field in KINDS[kind].fields):
        for some in (messages, signals):
            having = [kind for kind in some if field in KINDS[kind].fields]
            for at, value in enumerate(values_for(field) if having else ()):
                found.append((having[at % len(having)], {field: value}))
    return found


def texts_for(field: str) -> st.SearchStrategy[str]:
    """What is made for the field, and what Hypothesis makes up in the shape of it."""
    letters = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
    made_up = st.sampled_from(["", "urn:", "http://h/", "a/b; x=", 'a/b; x="', "a@"])
    return st.one_of(st.sampled_from(values_for(field)), st.builds(str.__add__, made_up, letters))


@st.composite
def an_odd_package(draw: st.DrawFn) -> Odd:
    """Up to three fields are odd."""
    kind = draw(st.sampled_from(list(KINDS)))
    fields = st.sampled_from([one for one in KINDS[kind].fields if one != "charset"])
    named = draw(st.lists(fields, min_size=1, max_size=3, unique=True))
    return kind, {field: draw(texts_for(field)) for field in named}


odd_packages = st.lists(an_odd_package(), min_size=1, max_size=40)


class Sink:
    """A payload in memory."""

    def __init__(self) -> None:
        self.body = b""

    def write(self, data: bytes) -> None:
        self.body += data

    def close(self) -> tuple[int, str]:
        return len(self.body), sha256(self.body).hexdigest()


class Let(NamedTuple):
    """What the door made of a package."""

    package: Odd
    envelope: Envelope | None
    about: About | None
    refusal: RemoteError | None

    @property
    def message(self) -> Message | None:
        content = None if self.envelope is None else self.envelope.content
        return content if isinstance(content, Message) else None


def at_the_door(package: Odd) -> Let:
    """The package through the decoder, in two pieces."""
    kind, changes = package
    content_type, body = parcel(kind, ADDRESSES, changes)
    decoder = None
    try:
        head = content_type.encode("utf-8", "surrogatepass").decode("latin-1")
        decoder = Decoder(head, lambda _: Sink())
        for piece in (body[:700], body[700:]):
            decoder.feed(piece)
        return Let(package, decoder.finish(), decoder.about, None)
    except RemoteError as error:
        return Let(package, None, None if decoder is None else decoder.about, error)


SURPRISES = (
    *(OnceonlyError, AssertionError, ValueError, ArithmeticError, LookupError, TypeError),
    *(OSError, sqlite3.Error, struct.error, pa.ArrowException),
)
"""What code says of a value that it did not expect."""


class Surprises:
    """All that is wrong with any of the packages, so that one run shows it all."""

    def __init__(self) -> None:
        self._found: dict[str, str] = {}
        """By where it was raised; the first package is enough."""

    @contextmanager
    def of(self, let: Let) -> Iterator[None]:
        """Note what goes wrong with this one."""
        try:
            yield
        except SURPRISES as error:
            trouble = trouble_of(json.dumps(let.package), error)
            self._found.setdefault(trouble.where, f"{trouble.what}\n    {trouble.error}")

    def assert_none(self) -> None:
        said = [f"{text}\n    {where}" for where, text in self._found.items()]
        assert not said, "\n" + "\n".join(said)


def each(packages: Sequence[Odd], judge: Callable[[Let], None]) -> None:
    """Judge what the door made of each."""
    surprises = Surprises()
    for package in packages:
        let = at_the_door(package)
        with surprises.of(let):
            judge(let)
    surprises.assert_none()


def agreement_of(message: Message, profile: Profile) -> Agreement:
    """An agreement that the message keeps to as far as one can."""
    return Agreement(
        id=message.agreement_id,
        profile=profile,
        our_ids=message.to_ids,
        their_ids=message.from_ids,
        send_to="http://them.example/msh",
        error_to=None,
        receiver_uri="http://them.example/msh",
        terms=DeliveryTerms(is_numbered=profile.is_numbered),
    )


def admitted(let: Let) -> AdmittedMessage | None:
    """The message under its agreement, if it is let in there, too."""
    if let.envelope is None or let.message is None:
        return None
    agreements = Agreements([agreement_of(let.message, let.envelope.profile)])
    ours = {hop.receiver_uri for hop in let.envelope.routing}
    try:
        return agreements.admit(
            let.message, let.envelope.routing, profile=let.envelope.profile, our_uris=ours
        )
    except RemoteError:
        return None


def stored_payloads(let: Let) -> list[StoredPayload]:
    assert let.envelope is not None
    assert let.message is not None
    bodies = [sink.body for sink in let.envelope.sinks if isinstance(sink, Sink)]
    return [StoredPayload(*both) for both in zip(let.message.payloads, bodies, strict=True)]


class Outlet:
    """A transport that keeps what it was to carry."""

    schemes = frozenset({"http"})

    def __init__(self) -> None:
        self.sent: list[Outgoing] = []

    async def send(self, outgoing: Outgoing) -> Transmission:
        self.sent.append(outgoing)
        return Transmission(Outcome.ACCEPTED, bytes_left=True)

    async def close(self) -> None:
        pass


@contextmanager
def opened(directory: Path) -> Iterator[SqliteStore]:
    store = open_sqlite(directory / "store.db", party=US, clock_at=Clock().at)
    try:
        yield store
    finally:
        store.close()


# --- Encoded -------------------------------------------------------------------------------------


def one_hop_further(envelope: Envelope) -> Package:
    """As an intermediary sends it on."""
    routing = changed(
        envelope.routing[-1],
        sender_uri=OUR_URI,
        receiver_uri="http://next.example/",
        timestamp_at=Clock().at(),
    )
    boundary, root = boundary_for(TOKEN), f"header-{TOKEN}"
    return forward(envelope, routing, boundary=boundary, root_content_id=root)


def read_again(package: Package, payloads: Sequence[StoredPayload]) -> Envelope:
    body = b"".join([*PackageBody(package, payloads, None)._pieces()])
    decoder = Decoder(package.content_type, lambda _: Sink())
    decoder.feed(body)
    return decoder.finish()


def assert_written_again(let: Let) -> None:
    """As our own and with one more hop; what is read then is what was read first."""
    envelope = let.envelope
    if envelope is None:
        return
    payloads = [] if let.message is None else stored_payloads(let)
    content = envelope.content
    again = read_again(one_hop_further(envelope), payloads)
    assert again.content == content
    assert again.routing[:-1] == envelope.routing
    if isinstance(content, Message):
        # In the CPA's place stands what was agreed.
        content = changed(content, leaves_semantics=False)
    routing = envelope.routing[-1]
    if not isinstance(content, Message):
        # A signal of ours has no place in the sequence, whatever was read in one.
        routing = changed(routing, sequence_number=None)
    ours = encode(
        content,
        routing,
        profile=envelope.profile,
        boundary=boundary_for(TOKEN),
        root_content_id=f"header-{TOKEN}",
    )
    assert whole_ms(read_again(ours, payloads).content) == whole_ms(content)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_value_can_be_written_again_as_it_was(profile):
    """Whatever the door lets through of what is known to be odd."""
    each(every_value(profile), assert_written_again)


@few
@given(odd_packages)
def test_what_is_made_up_can_be_written_again_as_it_was(packages):
    """Several fields at once, with texts of all characters."""
    each(packages, assert_written_again)


def whole_ms(content: Any) -> Any:
    """Without the one thing that writing may cut: what is below a millisecond."""
    return re.sub(r"(_at=-?[0-9]+)[0-9]{3}\b", r"\1000", repr(content))


# --- Spoken about --------------------------------------------------------------------------------


async def assert_spoken_about(packages: Sequence[Odd], store: Store, directory: Path) -> None:
    """Every signal that there is about what came, posted where it is posted."""
    group = GroupCommit(store, on_failure=_raise, thread=False)
    desk = desk_over(store, group, Clock(), US, Spool(directory), Outlet())
    surprises = Surprises()
    for package in packages:
        let = at_the_door(package)
        with surprises.of(let):
            await speak(let, Errors(desk), desk.ground())
    await group.drain()
    surprises.assert_none()


async def speak(let: Let, errors: Errors, ground: Ground) -> None:
    received = admitted(let)
    if received is not None:
        message, agreement = received.message, received.agreement
        acknowledgment(ground, received)
        answer = Answer(ErrorCode.NOT_SUPPORTED, Severity.ERROR, message.action)
        await errors.send_error(received, answer)
        if agreement.profile is Profile.RM_2001:
            receipt(ground, hop_back(received), message.message_id, agreement.our_ids)
            notice = OwedNotice(
                message.key,
                agreement.id,
                message.conversation_id,
                message.semantics,
                Severity.WARNING,
                message.service,
            )
            failure_notice(ground, notice, agreement)
    # Nobody answers a signal.
    if let.about is not None and let.about.message_id and let.about.message_type == "Normal":
        profile = profile_named(KINDS[let.package[0]].profile)
        refusal = let.refusal or RemoteError(ErrorCode.NOT_SUPPORTED, "no")
        await errors.send_rejection(let.about, agreement_like(let.about, profile), refusal)
    if let.envelope is not None and isinstance(let.envelope.content, Inquiry):
        say_how_it_stands(let.envelope.content, let.envelope.profile, ground)


def agreement_like(about: About, profile: Profile) -> Agreement:
    """The agreement that is named there, if one can be, between its own parties."""
    plain = at_the_door(("2001 message", {})).message
    assert plain is not None
    return agreement_of(changed(plain, agreement_id=about.agreement_id or "agreed-1"), profile)


def say_how_it_stands(inquiry: Inquiry, profile: Profile, ground: Ground) -> None:
    """The answer to a question, under the names of the agreement."""
    asked = inquiry.header
    agreement = agreement_like(About(agreement_id=asked.agreement_id), profile)
    hop = hop_to(ground.house, agreement, asked.conversation_id)
    if not asked.ref_to_message_id and inquiry.kind is not InquiryKind.PING:
        return
    said = Report(
        header=signal_header(ground, hop, asked.message_id),
        kind=inquiry.kind,
        about=asked.ref_to_message_id,
        status=MessageStatus.RECEIVED,
        processing=ReportedProcessing.NOT_KNOWN,
        received_at=asked.timestamp_at,
    )
    encoded(ground, said, hop)


def _raise(error: BaseException) -> None:
    raise error


def assert_all_spoken_about(packages: Sequence[Odd]) -> None:
    with TemporaryDirectory() as directory:
        store = MemoryStore(party=US, clock_at=Clock().at)
        asyncio.run(assert_spoken_about(packages, store, Path(directory)))


@pytest.mark.parametrize("profile", PROFILES)
def test_every_signal_about_every_value_can_be_made(profile):
    """Acknowledgement, receipt, error, refusal, failure notice and report."""
    assert_all_spoken_about(every_value(profile))


@few
@given(odd_packages)
def test_every_signal_about_what_is_made_up_can_be_made(packages):
    """The same of several fields at once, with texts of all characters."""
    assert_all_spoken_about(packages)


# --- Kept and shown ------------------------------------------------------------------------------


def keep(lets: Sequence[Let], store: SqliteStore, surprises: Surprises) -> None:
    """Each message in every place of the store that has one, and a row about it."""
    now, terms, rows = Clock().now(), DeliveryTerms(), Rows(US)
    txn = store.begin()
    for let in lets:
        with surprises.of(let):
            keep_one(let, txn, now, terms)
    for let in lets:
        message = message_of(let)
        agreement = agreement_of(message, Profile.RM_2001)
        effect = Journal(Event.STORED, reason=message.action)
        row = rows.with_header(
            message,
            agreement,
            Direction.IN,
            effect,
            now,
            digests=digests_of(message, Profile.RM_2001),
            ack_requested=None,
        )
        assert let.envelope is not None
        txn.append([changed(row, endpoint=let.envelope.routing[-1].sender_uri)])
    store.commit()


def keep_one(let: Let, txn: Transaction, now: Now, terms: DeliveryTerms) -> None:
    message, payloads = message_of(let), stored_payloads(let)
    assert let.envelope is not None
    package = one_hop_further(let.envelope)
    digests = digests_of(message, Profile.RM_2001)
    digest, header_digest = digests.payloads, digests.header
    until_at = schedule.forgettable_at(message.timestamp_at, now, terms)
    state = Outbound(expires_at=schedule.expires_at(message.timestamp_at, terms))
    txn.add_inbound(
        message,
        payloads,
        package,
        digest=digest,
        header_digest=header_digest,
        received_at=now.at,
        keep_until_at=until_at,
    )
    txn.hand_over(message.key, at=now.at)
    txn.add_outbound(
        message,
        state,
        payloads,
        digest=digest,
        header_digest=header_digest,
        submitted_at=now.at,
        idempotency_key=None,
    )
    txn.put_package(message.message_id, package)
    txn.add_transit(transit_of(let), package, payloads, keep_until_at=until_at)


def message_of(let: Let) -> Message:
    assert let.message is not None
    return let.message


def transit_of(let: Let) -> TransitEntry:
    """The message as one on its way through us."""
    assert let.envelope is not None
    message = message_of(let)
    return TransitEntry(
        key=message.key,
        route_id="route",
        upstream_uri=let.envelope.routing[-1].sender_uri,
        agreement_id=message.agreement_id,
        conversation_id=message.conversation_id,
        ack_requested=None,
        digest=content_digest(message.payloads),
        hop=2,
        state=Transit(),
    )


def look_at_kept(lets: Sequence[Let], store: SqliteStore, surprises: Surprises) -> None:
    """What is read back is what was written."""
    snapshot = store.snapshot()
    for let, item in zip(lets, snapshot.list_inbox(0, len(lets) + 1), strict=True):
        with surprises.of(let):
            message = message_of(let)
            assert item.message == changed(message, leaves_semantics=item.message.leaves_semantics)
            assert list(snapshot.list_inbox_payloads(item.offset)) == stored_payloads(let)
            view = snapshot.find_outbound_view(message.message_id)
            assert view is not None
            assert view.message.key == message.key
            assert snapshot.find_inbound(message.key) is not None
            assert snapshot.find_transit("route", message.message_id) == transit_of(let)
            assert shapes.message_shape(view, None, None)


def look_at_shown(lets: Sequence[Let], store: SqliteStore, surprises: Surprises) -> None:
    """The JSON and the frames of the API, a head of HTTP, a segment, and a line of the log."""
    snapshot = store.snapshot()
    for let, item in zip(lets, snapshot.list_inbox(0, len(lets) + 1), strict=True):
        with surprises.of(let):
            shape = assert_one_can_be_shown(shapes.inbox_shape(item))
            for text in (
                *shape.values(),
                *(one for part in shape["payloads"] for one in part.values()),
            ):
                assert not isinstance(text, str) or ONE_LINE.fullmatch(text), text
            for shown in shape["payloads"]:
                assert httpx.URL(f"http://h{shown['href']}").raw_path.decode() == shown["href"]
            for payload in item.message.payloads:
                head = Response(b"", headers={"content-type": payload.content_type}).headers
                assert HEADER_VALUE.fullmatch(head["content-type"])
            bodies = [stored.body for stored in snapshot.list_inbox_payloads(item.offset)]
            assert inbox_stream([WholeItem(item, bodies)])
    assert_rows_can_be_shown(snapshot.list_journal(0, len(lets) + 1))


def assert_one_can_be_shown(shape: Word) -> dict[str, Any]:
    """As JSON over the API and as one line of the log; returns its members."""
    members = json.loads(json.dumps(to_builtins(shape)))
    assert json.loads(Json(shape).body) == members
    line = structlog.processors.JSONRenderer()(None, "info", dict(members))
    assert len(line.splitlines()) == 1 if isinstance(line, str) else b"\n" not in line
    return dict(members)


def assert_rows_can_be_shown(records: Sequence[Record]) -> None:
    """As a segment and as a frame, and each by itself."""
    assert to_records(to_table(records)) == list(records)
    assert to_parquet(records)
    assert journal_stream(records)
    for record in records:
        assert_one_can_be_shown(shapes.record_shape(record))


def assert_all_kept_and_shown(packages: Sequence[Odd]) -> None:
    lets: dict[str, Let] = {}
    refused: list[Let] = []
    surprises = Surprises()
    for at, package in enumerate(packages):
        let = at_the_door(package)
        if let.message is not None:
            # Ids that are not what is odd must differ, or there would be only one message.
            renamed = (
                let
                if "message_id" in package[1]
                else at_the_door((package[0], {"message_id": f"m-{at}", **package[1]}))
            )
            lets[message_of(renamed).message_id] = renamed
        elif let.refusal is not None:
            refused.append(let)
    stored = [*lets.values()]
    with TemporaryDirectory() as directory:
        with opened(Path(directory)) as store:
            keep(stored, store, surprises)
            look_at_kept(stored, store, surprises)
        with opened(Path(directory)) as store:
            look_at_kept(stored, store, surprises)
            look_at_shown(stored, store, surprises)
    look_at_refusals(refused, surprises)
    surprises.assert_none()


def look_at_refusals(refused: Sequence[Let], surprises: Surprises) -> None:
    """The rows about what was refused, with what is known of who sent it."""
    now, rows = Clock().now(), Rows(US)
    with TemporaryDirectory() as directory, opened(Path(directory)) as store:
        txn = store.begin()
        for let in refused:
            assert let.refusal is not None
            about = let.about or About()
            row = rows.about_gateway(Event.REJECTED, now, let.refusal.description)
            with surprises.of(let):
                txn.append(
                    [
                        changed(
                            row,
                            message_id=about.message_id,
                            agreement_id=about.agreement_id,
                            from_party=str(about.from_ids[0]) if about.from_ids else None,
                            endpoint=about.sender_uri,
                        )
                    ]
                )
        store.commit()
        assert_rows_can_be_shown(store.snapshot().list_journal(0, len(refused) + 1))


@pytest.mark.parametrize("profile", PROFILES)
def test_every_value_is_kept_over_a_restart_and_can_be_shown(profile):
    """In the store, the journal and its segments, the API and the log."""
    assert_all_kept_and_shown(every_value(profile))


@few
@given(odd_packages)
def test_what_is_made_up_is_kept_over_a_restart_and_can_be_shown(packages):
    """The same of several fields at once, with texts of all characters."""
    assert_all_kept_and_shown(packages)


# --- Carried -------------------------------------------------------------------------------------


class Outlets:
    """Every transport, and listeners that take everything, on a loop of their own."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._neighbour, self._mail = Neighbour(), MailSystem()
        self._runner.run(self._open())

    async def _open(self) -> None:
        await self._neighbour.open()
        await self._mail.open()
        self._mail.is_holding.set()
        self._http = HttpTransport()
        relay = f"smtp://127.0.0.1:{self._mail.port}"
        self._by_mail = MailTransport(SmtpTransport(relay, MAILBOX), SentMails())

    def carry(self, package: Package, payloads: Sequence[StoredPayload], message_id: str) -> None:
        self._runner.run(self._carry(package, payloads, message_id))

    async def _carry(
        self, package: Package, payloads: Sequence[StoredPayload], message_id: str
    ) -> None:
        body = PackageBody(package, payloads, None)
        uri = self._neighbour.uri("next")
        outgoing = Outgoing(uri, package.content_type, body, message_id)
        sent = await self._http.send(outgoing)
        assert sent.outcome is Outcome.ACCEPTED, sent
        sent = await self._by_mail.send(changed(outgoing, endpoint="smtp:a@next.example"))
        assert sent.outcome is Outcome.ACCEPTED, sent
        content = body.whole()
        assert content is not None
        properties = amqp_client._message(outgoing, content).properties
        assert properties.marshal()
        for stored in payloads:
            # What looks at content gets each payload by itself, under its own type.
            alone = Outgoing(uri, stored.payload.content_type, BytesBody(stored.body or b""))
            sent = await self._http.send(alone)
            assert sent.outcome is Outcome.ACCEPTED, sent

    def close(self) -> None:
        self._runner.run(self._close())
        self._runner.close()

    async def _close(self) -> None:
        await self._http.close()
        await self._by_mail.close()
        await self._neighbour.close()
        await self._mail.close()


@pytest.fixture(scope="module")
def outlets() -> Iterator[Outlets]:
    opened_ = Outlets()
    yield opened_
    opened_.close()


def assert_carried(let: Let, outlets: Outlets) -> None:
    if let.envelope is None:
        return
    payloads = [] if let.message is None else stored_payloads(let)
    content = let.envelope.content
    message_id = content.message_id if isinstance(content, Message) else content.header.message_id
    outlets.carry(one_hop_further(let.envelope), payloads, message_id)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_transport_carries_every_value(outlets, profile):
    """HTTP, mail and AMQP, with a hop added; and a payload alone, to whoever looks at content."""
    fields = ("payload_type", "payload_id", "payload_encoding", "message_id", "charset", "version")
    each(every_value(profile, fields), lambda let: assert_carried(let, outlets))


@few
@given(packages=odd_packages)
def test_every_transport_carries_what_is_made_up(outlets, packages):
    """The same of several fields at once, with texts of all characters."""
    each(packages, lambda let: assert_carried(let, outlets))
