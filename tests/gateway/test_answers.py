"""What the other MSH answers, and what the sending side makes of it."""

import pytest
from peer import Manners, bodies
from running_gateway import BRIEF, NEVER_S, running

from onceonly.message.event import Event
from onceonly.message.instant import NS_PER_S
from onceonly.store.contract.entries import Role

pytestmark = pytest.mark.anyio

ORDER = b"<Order/>"


async def sent(gateway, peer) -> str:
    """A message that was transmitted and waits for its acknowledgement."""
    message_id = await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    await gateway.until(lambda: gateway.rows(Event.TRANSMITTED, message_id=message_id))
    return message_id


# --- Acknowledgements ----------------------------------------------------------------------------


@pytest.mark.statement("S0-13")
async def test_a_fitting_acknowledgement_completes_the_message(gateway, peer):
    """S0-13: and it is the only thing that does."""
    message_id = await sent(gateway, peer)
    assert gateway.state_of(message_id) == "sending"
    reply = await peer.acknowledge(message_id)
    assert (reply.status, reply.body) == (204, b"")
    assert gateway.state_of(message_id) == "acknowledged"
    assert [row.message_id for row in gateway.rows(Event.ACK_RECEIVED)] == [message_id]


@pytest.mark.parametrize("form", ["<{0}>", " {0}\n", "\t<{0}> "])
async def test_an_acknowledgement_as_mail_writes_ids_is_matched(gateway, peer, form):
    """R-42: angle brackets or blanks round the reference, as other products have them."""
    message_id = await sent(gateway, peer)
    await peer.acknowledge(form.format(message_id))
    assert gateway.state_of(message_id) == "acknowledged"
    assert gateway.rows(Event.ORPHAN_ACK_RECEIVED) == []


async def test_an_id_with_brackets_of_its_own_is_matched_as_it_stands(gateway, peer):
    """R-42: what fits is never read otherwise, so two ids that differ by them stay two."""
    plain = await sent(gateway, peer)
    await peer.acknowledge(f"<<{plain}>>")
    (row,) = gateway.rows(Event.ORPHAN_ACK_RECEIVED)
    assert (row.message_id, gateway.state_of(plain)) == (f"<<{plain}>>", "sending")


async def test_an_acknowledgement_without_names_of_its_own_is_matched(gateway, peer):
    """R-42: no MessageId, agreement or conversation: what it is about says RefToMessageId."""
    message_id = await sent(gateway, peer)
    package = peer.signal("Acknowledgement", message_id)
    body = package.body
    for name in (b"MessageId", b"TPAId", b"ConversationId"):
        start, end = body.index(b"<%s>" % name), body.index(b"</%s>" % name) + len(name) + 3
        body = body[:start] + body[end:]
    assert (await peer.post(package._replace(body=body))).status == 204
    assert gateway.state_of(message_id) == "acknowledged"


@pytest.mark.statement("S0-13", ruling="R-20")
@pytest.mark.parametrize(
    ("ref", "fields"),
    [
        ("no-such-message@a.example.com", {}),
        (None, {"sender_uri": "http://127.0.0.1:9/foreign"}),
        (None, {"sender_uri": "urn:duns:333333333"}),
    ],
    ids=["foreign RefToMessageId", "foreign URI", "foreign party"],
)
async def test_an_acknowledgement_that_does_not_fit_is_counted_and_dropped(
    gateway, peer, ref, fields
):
    """S0-13, R-20: RefToMessageId and the peer's identity must both fit."""
    message_id = await sent(gateway, peer)
    reply = await peer.acknowledge(ref or message_id, **fields)
    assert (reply.status, reply.body) == (204, b"")
    assert gateway.state_of(message_id) == "sending"
    (row,) = gateway.rows(Event.ORPHAN_ACK_RECEIVED)
    assert row.message_id == (ref or message_id)


@pytest.mark.statement("S0-13", ruling="R-20")
async def test_another_partner_cannot_acknowledge_a_message(tmp_path, peer, other_peer):
    """R-20, I10: the acknowledgement must come from the partner whom the message went to."""
    async with running(tmp_path, peer, other_peer) as gateway:
        message_id = await sent(gateway, peer)
        await other_peer.acknowledge(message_id)
        assert gateway.state_of(message_id) == "sending"
        assert len(gateway.rows(Event.ORPHAN_ACK_RECEIVED)) == 1


async def test_an_acknowledgement_before_the_message_changes_nothing(gateway, peer):
    """S0-13, S0-07: a queued message cannot be acknowledged; it still gets its turn."""
    first = await sent(gateway, peer)
    queued = await gateway.submit(ORDER, to=peer)
    await peer.acknowledge(queued)
    assert gateway.state_of(queued) == "queued"
    assert len(gateway.rows(Event.ORPHAN_ACK_RECEIVED)) == 1
    await peer.acknowledge(first)
    assert (await peer.hear("Normal")).message_id == queued


@pytest.mark.statement("S0-93", "S3-17")
async def test_repeated_acknowledgements_change_nothing(gateway, peer):
    """I10: the second and third acknowledgement are journal rows and nothing else."""
    message_id = await sent(gateway, peer)
    for _ in range(3):
        assert (await peer.acknowledge(message_id)).status == 204
    assert gateway.state_of(message_id) == "acknowledged"
    assert len(gateway.rows(Event.ACK_RECEIVED)) == 1
    assert len(gateway.rows(Event.REPEATED_ACK_RECEIVED)) == 2


async def test_an_acknowledgement_of_an_old_message_does_not_complete_the_next(gateway, peer):
    """S0-13: reordered and late copies of acknowledgements find their own message only."""
    first = await sent(gateway, peer)
    await peer.acknowledge(first)
    second = await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    await peer.acknowledge(first)
    assert gateway.state_of(second) == "sending"
    await peer.acknowledge(second)
    assert gateway.state_of(second) == "acknowledged"


@pytest.mark.statement("S0-15", ruling="R-20")
async def test_signals_are_never_answered(gateway, peer):
    """S0-15, R-20: fitting or not, well-formed or not, nothing is posted about a signal."""
    message_id = await sent(gateway, peer)
    await peer.refuse(message_id, "ValueNotRecognized", "Warning")
    await peer.acknowledge(message_id)
    await peer.acknowledge("no-such-message@a.example.com")
    await peer.refuse("no-such-message@a.example.com", "MimeProblem")
    misread = peer.signal("Error", message_id)  # an Error without an ErrorList
    assert (await peer.post(misread)).status == 400
    await gateway.everything_said()
    assert [arrival.kind for arrival in peer.arrivals] == ["Normal"]


async def test_an_acknowledgement_counts_while_the_transmission_is_open(gateway, peer):
    """R-05: a transport that never answers does not hold up what the peer's MSH has said."""
    peer.answer(Manners.SILENCE)
    message_id = await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    await peer.acknowledge(message_id)
    assert gateway.state_of(message_id) == "acknowledged"
    following = await gateway.submit(ORDER, to=peer)
    assert (await peer.hear("Normal")).message_id == following


@pytest.mark.statement("S3-17", ruling="R-09")
async def test_a_late_acknowledgement_is_news_and_opens_the_pair(tmp_path, peer):
    """R-09, I23: told "acknowledged late", the pair goes on, the incident is over."""
    async with running(tmp_path, peer, terms={**BRIEF, "retries": 0}) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        waiting = await gateway.submit(ORDER, to=peer)
        await gateway.until_state(message_id, "in_doubt")
        assert gateway.pair_state(Role.SENDER, peer) == "suspended"
        await peer.acknowledge(message_id)
        assert gateway.state_of(message_id) == "acknowledged"
        assert gateway.notices()[:2] == [
            ("DeliveryFailure", "Warning", "DeliveryFailure"),
            ("AcknowledgedLate", "Warning", "DeliveryFailure"),
        ]
        assert len(gateway.rows(Event.LATE_ACK_RECEIVED)) == 1
        assert [row.reason for row in gateway.rows(Event.PAIR_RESUMED)] == ["acknowledged late"]
        await peer.hear("Normal")
        assert (await peer.hear("Normal")).message_id == waiting


# --- TransientError ------------------------------------------------------------------------------


@pytest.mark.statement("S0-83", "S0-84", "S0-85", ruling="R-15")
@pytest.mark.parametrize(
    ("min_retry_s", "pause_s"), [(4, 4), (None, 3)], ids=["MinRetrySecs", "RetryInterval"]
)
async def test_transient_error_pauses_and_resends_the_same_bytes(
    tmp_path, peer, min_retry_s, pause_s
):
    """S0-83 to S0-85, R-15: silent for MinRetrySecs, or for RetryInterval where there is none."""
    terms = {"timeout": NEVER_S, "retries": 1, "retry_interval": 3}
    async with running(tmp_path, peer, terms=terms) as gateway:
        message_id = await sent(gateway, peer)
        await peer.refuse(message_id, "TransientError", "Warning", min_retry_s)
        await peer.hear("Normal")
        assert len(bodies(peer.arrivals)) == 1
        (told,) = gateway.rows(Event.ERROR_RECEIVED)
        again = gateway.rows(Event.TRANSMITTING)[1]
        assert (again.monotonic_ns - told.monotonic_ns) / NS_PER_S >= pause_s
        assert again.attempt == 1


@pytest.mark.statement("S0-86", ruling="R-15")
async def test_transient_errors_do_not_use_up_the_retries(tmp_path, peer):
    """S0-86: three in a row under Retries = 0, then an acknowledgement: delivered."""
    terms = {"timeout": NEVER_S, "retries": 0, "retry_interval": 1}
    async with running(tmp_path, peer, terms=terms) as gateway:
        message_id = await sent(gateway, peer)
        for _ in range(3):
            await peer.refuse(message_id, "TransientError", "Warning")
            await peer.hear("Normal")
        await peer.acknowledge(message_id)
        assert gateway.state_of(message_id) == "acknowledged"
        assert gateway.notices() == []


async def test_transient_errors_are_not_believed_for_ever(tmp_path, peer):
    """R-15: past `transient_retries` the message is given up and the pair suspended."""
    terms = {"timeout": NEVER_S, "retry_interval": 1, "transient_retries": 1}
    async with running(tmp_path, peer, terms=terms) as gateway:
        message_id = await sent(gateway, peer)
        await peer.refuse(message_id, "TransientError", "Warning")
        await peer.hear("Normal")
        await peer.refuse(message_id, "TransientError", "Warning")
        assert gateway.state_of(message_id) == "in_doubt"
        assert gateway.notices() == [("DeliveryFailure", "Warning", "TransientError")]
        assert gateway.pair_state(Role.SENDER, peer) == "suspended"


@pytest.mark.statement("S0-08", "S0-83", ruling="R-15")
async def test_a_transient_error_holds_up_no_other_partner(tmp_path, peer, other_peer):
    """S0-83: nothing to that receiver for MinRetrySecs; other receivers are served."""
    async with running(tmp_path, peer, other_peer) as gateway:
        message_id = await sent(gateway, peer)
        await peer.refuse(message_id, "TransientError", "Warning", NEVER_S)
        elsewhere = await sent(gateway, other_peer)
        await other_peer.acknowledge(elsewhere)
        assert gateway.state_of(elsewhere) == "acknowledged"
        assert len(peer.arrivals) == 1


# --- Other errors --------------------------------------------------------------------------------


async def test_invalid_sequence_number_quarantines_until_an_operator_resumes(gateway, peer):
    """R-11: never guess; in doubt, an incident, nothing sent; a resume sends the same again."""
    message_id = await sent(gateway, peer)
    waiting = await gateway.submit(ORDER, to=peer)
    await peer.refuse(message_id, "InvalidSequenceNumber")
    assert gateway.state_of(message_id) == "in_doubt"
    assert gateway.pair_state(Role.SENDER, peer) == "quarantined"
    assert gateway.open_incidents() == [Role.SENDER]
    assert gateway.notices() == [("DeliveryFailure", "Warning", "InvalidSequenceNumber")]
    assert not peer.has_unheard()

    await gateway.resume(peer)
    again = await peer.hear("Normal")
    assert again.message_id == message_id
    assert len(bodies(peer.arrivals)) == 1
    assert gateway.open_incidents() == []
    await peer.acknowledge(message_id)
    assert (await peer.hear("Normal")).message_id == waiting


@pytest.mark.statement("S0-55", ruling="R-10")
async def test_a_refusal_of_the_only_copy_is_final_and_the_pair_goes_on(gateway, peer):
    """R-08, R-10: failed, told; the abandoned number is reset before the next message."""
    message_id = await sent(gateway, peer)
    waiting = await gateway.submit(ORDER, to=peer)
    await peer.refuse(message_id, "ValueNotRecognized")
    assert gateway.state_of(message_id) == "failed"
    assert gateway.notices() == [("DeliveryFailure", "Warning", "ValueNotRecognized")]
    following = await peer.hear("Normal")
    assert (following.message_id, following.number) == (waiting, "000000001")
    assert gateway.pair_state(Role.SENDER, peer) == "open"
    reset = gateway.rows(Event.SEQUENCE_RESET)
    assert len(reset) == 1
    begun = gateway.rows(Event.TRANSMITTING, message_id=waiting)
    assert reset[0].seq < begun[0].seq


async def test_a_refusal_after_a_resend_leaves_a_doubt(tmp_path, peer):
    """R-08: another copy may have been stored, so it is Warning and in_doubt, not failed."""
    terms = {"timeout": NEVER_S, "retry_interval": 1}
    async with running(tmp_path, peer, terms=terms) as gateway:
        message_id = await sent(gateway, peer)
        await peer.refuse(message_id, "TransientError", "Warning")
        await peer.hear("Normal")
        await peer.refuse(message_id, "MimeProblem")
        assert gateway.state_of(message_id) == "in_doubt"
        await peer.acknowledge(message_id)
        assert gateway.state_of(message_id) == "acknowledged"
        assert ("AcknowledgedLate", "Warning", "DeliveryFailure") in gateway.notices()


async def test_an_unknown_error_code_is_taken_for_what_it_says(gateway, peer):
    """R-25: a code that we do not know still refuses, and its word is kept for people."""
    message_id = await sent(gateway, peer)
    await peer.refuse(message_id, "CoffeeIsOut")
    assert gateway.state_of(message_id) == "failed"
    (row,) = gateway.rows(Event.ERROR_RECEIVED)
    assert row.error_code == "Unknown"
    assert "CoffeeIsOut" in (row.reason or "")


@pytest.mark.statement("S0-28")
async def test_a_warning_is_noted_and_the_wait_goes_on(gateway, peer):
    """S0-28: only severity Error refuses."""
    message_id = await sent(gateway, peer)
    await peer.refuse(message_id, "ValueNotRecognized", "Warning")
    assert gateway.state_of(message_id) == "sending"
    assert len(gateway.rows(Event.ERROR_RECEIVED)) == 1


async def test_an_error_from_a_stranger_is_dropped(gateway, peer):
    """R-20: an error must fit like an acknowledgement, or anybody could fail a message."""
    message_id = await sent(gateway, peer)
    await peer.refuse(message_id, "ValueNotRecognized", sender_uri="http://127.0.0.1:9/foreign")
    assert gateway.state_of(message_id) == "sending"
    assert gateway.notices() == []
