"""Trouble with a partner is one incident (R-40); what certainly ended goes out again (R-41)."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from asking import report
from calling import refused
from packages import ORDER
from peer import UNAVAILABLE, Peer
from peer_2001 import Peer2001
from running_gateway import BRIEF, RunningGateway, form, running

from onceonly.message.event import Event

pytestmark = [pytest.mark.anyio, pytest.mark.statement(ruling="R-41")]

TERMS: dict[str, Any] = {"profile": "rm-2001", **BRIEF}
SHORT_LIVED = {**TERMS, "time_to_live": "PT10M"}
CLOCK = {"clock_offset_file": "offset"}
KEY = {"key": "PO-4711"}


@pytest.fixture
async def peer() -> AsyncIterator[Peer2001]:
    """The partner of agreement cpa-ab-1, listening."""
    partner = Peer2001()
    await partner.listen()
    yield partner
    await partner.close()


@pytest.fixture
async def gateway(tmp_path, peer) -> AsyncIterator[RunningGateway]:
    """A gateway that soon gives up, and goes on with the pair."""
    async with running(tmp_path, peer, terms=TERMS) as alive:
        yield alive


async def unsent(gateway: RunningGateway, peer: Peer2001, **header: Any) -> str:
    """A message that met refused connections until it was given up."""
    peer.refuse_connections()
    message_id = await gateway.submit(ORDER, to=peer, **header)
    await gateway.until_state(message_id, "failed")
    return message_id


async def doubtful(gateway: RunningGateway, peer: Peer2001, **header: Any) -> str:
    """A message that a proxy answered for until it was given up."""
    peer.answer_always = UNAVAILABLE
    message_id = await gateway.submit(ORDER, to=peer, **header)
    await gateway.until_state(message_id, "in_doubt")
    return message_id


async def fenced(gateway: RunningGateway, peer: Peer2001, **header: Any) -> str:
    """A message that was in doubt until the last copy was too old."""
    message_id = await doubtful(gateway, peer, **header)
    (gateway.configuration.path.parent / "offset").write_text("90000", "ascii")
    await gateway.parts.desk.sweep()
    await gateway.until_state(message_id, "failed")
    return message_id


async def back(gateway: RunningGateway, peer: Peer2001, message_id: str) -> None:
    """The partner listens again, and acknowledges what it hears of that message."""
    await peer.acknowledge_2001(message_id)
    await gateway.until_state(message_id, "acknowledged")


async def resend(gateway: RunningGateway, message_id: str, **body: Any) -> Any:
    return await gateway.call("POST", f"/v1/messages/{message_id}/resend", json=body)


async def submit_again(gateway: RunningGateway, peer: Peer2001, **header: Any) -> Any:
    return (await gateway.submitted(ORDER, to=peer, **KEY, **header)).json


@pytest.mark.statement(ruling="R-40")
class TestTrouble:
    """What operators see of a partner that is out of reach."""

    async def test_hundreds_of_messages_are_one_incident(self, gateway, peer):
        """It says since when, why at last, and what it concerns; the pair stays open."""
        for _ in range(3):
            await unsent(gateway, peer)
        [incident] = (await gateway.get("/v1/incidents"))["incidents"]
        assert incident["is_trouble"] is True
        assert incident["messages"] == {"failed": 3}
        assert incident["resolved_at"] is None
        [sender] = [
            one
            for one in (await gateway.get("/v1/partners"))["partners"]
            if one["role"] == "sender"
        ]
        assert (sender["state"], sender["trouble"]) == ("open", incident["reason"])

    async def test_it_is_over_when_the_partner_is_heard(self, gateway, peer):
        """By itself, and the next time is another one."""
        await unsent(gateway, peer)
        await peer.listen()
        message_id = await gateway.submit(ORDER, to=peer)
        await peer.hear("NewOrder")
        assert gateway.open_incidents() != []
        await back(gateway, peer, message_id)
        assert gateway.open_incidents() == []
        await unsent(gateway, peer)
        every = (await gateway.get("/v1/incidents?all=yes"))["incidents"]
        assert [one["resolved_at"] is None for one in every] == [False, True]
        assert every[0]["messages"] is None

    async def test_it_outlives_a_restart(self, gateway, peer):
        """And is then resolved like any other."""
        await unsent(gateway, peer)
        await gateway.restart()
        await peer.listen()
        message_id = await gateway.submit(ORDER, to=peer)
        await peer.hear("NewOrder")
        await back(gateway, peer, message_id)
        assert gateway.open_incidents() == []

    async def test_an_operator_who_resumes_has_seen_it(self, gateway, peer):
        """What is given up after that is news."""
        await unsent(gateway, peer)
        await gateway.resume(peer)
        assert gateway.open_incidents() == []
        await unsent(gateway, peer)
        assert len(gateway.open_incidents()) == 1


class TestCertainEnds:
    """A way on that cannot double."""

    async def test_what_never_left_goes_out_as_a_new_message(self, gateway, peer):
        """Each names the other, the old one stays as it was, and the journal says why."""
        old = await unsent(gateway, peer)
        await peer.listen()
        answer = await resend(gateway, old, reason="their host is back")
        assert (answer.status, answer.json["state"]) == (200, "failed")
        assert answer.json["is_certain"] is True
        new = answer.json["resent_as"]
        sent = await peer.hear("NewOrder")
        assert sent.message_id == new != old
        found = await gateway.get(f"/v1/messages/{new}")
        assert (found["resend_of"], found["digest"]) == (old, answer.json["digest"])
        [row] = gateway.rows(Event.RESENT)
        assert (row.message_id, row.reason) == (
            old,
            f"as {new}: an operator asked for it: their host is back",
        )
        await back(gateway, peer, new)

    async def test_it_goes_out_once(self, gateway, peer):
        """A second operator is told which message it is now."""
        old = await unsent(gateway, peer)
        await peer.listen()
        new = (await resend(gateway, old)).json["resent_as"]
        for body in ({}, {"new_version": True}, {"anyway": True, "reason": "hurry"}):
            again = await resend(gateway, old, **body)
            assert refused(again) == (409, "NotResendable")
            assert new in again.json["error"]["text"]
        await peer.hear("NewOrder")

    async def test_a_new_version_of_it_needs_no_cancel(self, gateway, peer):
        """Nobody could confirm one: the partner has never heard of it."""
        old = await unsent(gateway, peer)
        await peer.listen()
        answer = await resend(gateway, old, new_version=True)
        assert (answer.status, answer.json["recovery"]["phase"]) == (200, "at-rest")
        assert (await peer.hear("NewOrder")).message_id == answer.json["resent_as"]

    async def test_everything_that_never_left_goes_out_together(self, gateway, peer):
        """The oldest first; again, there is nothing left."""
        old = [await unsent(gateway, peer) for _ in range(3)]
        await peer.listen()
        path = f"/v1/partners/{peer.party}/resume"
        assert (await gateway.call("POST", path, json={"unsent": True})).json["resent"] == 3
        heard = [(await peer.hear("NewOrder")).message_id for _ in range(3)]
        new = [(await gateway.get(f"/v1/messages/{name}"))["resent_as"] for name in old]
        assert set(heard) == set(new)
        assert (await gateway.call("POST", path, json={"unsent": True})).json["resent"] == 0
        assert (await gateway.call("POST", path)).json["resent"] == 0

    async def test_a_full_queue_takes_no_more_of_it(self, tmp_path, peer):
        """What went out waits like any other; the rest goes when that is called again (R-27)."""
        async with running(tmp_path, peer, terms=TERMS, gateway={"queued_max": 2}) as gateway:
            for _ in range(3):
                await unsent(gateway, peer)
            await peer.listen()
            path = f"/v1/partners/{peer.party}/resume"
            full = await gateway.call("POST", path, json={"unsent": True})
            assert refused(full) == (503, "QueueFull")
            for _ in range(2):
                await back(gateway, peer, (await peer.hear("NewOrder")).message_id)
            rest = await gateway.call("POST", path, json={"unsent": True})
            assert rest.json["resent"] == 1

    async def test_an_unknown_partner_has_nothing_unsent(self, gateway):
        """404 as for every call about partners."""
        answer = await gateway.call("POST", "/v1/partners/urn:duns:9/resume", json={"unsent": True})
        assert refused(answer) == (404, "UnknownPartner")


class TestBusinessKeys:
    """A submission under the key of a message that ended."""

    async def test_under_its_key_a_certain_end_becomes_a_new_message(self, gateway, peer):
        """The key names that from then on; whoever repeats himself gets it, and nothing more."""
        old = await unsent(gateway, peer, **KEY)
        await peer.listen()
        first = await submit_again(gateway, peer)
        second = await submit_again(gateway, peer)
        assert (first["replayed"], second["replayed"]) == (False, True)
        assert first["message_id"] == second["message_id"] != old
        assert first["resend_of"] == old
        assert (await peer.hear("NewOrder")).message_id == first["message_id"]
        await back(gateway, peer, first["message_id"])
        assert (await submit_again(gateway, peer))["message_id"] == first["message_id"]

    async def test_under_its_message_id_it_is_never_a_new_one(self, gateway, peer):
        """An id is one message's for ever, also where its key has moved on."""
        old = await unsent(gateway, peer, **KEY)
        await peer.listen()
        message = {"to": peer.party, "service": "Ordering", "action": "NewOrder"}
        for _ in range(2):
            answer = await gateway.call(
                "PUT", f"/v1/messages/{old}", files=form({**message, **KEY}, ORDER)
            )
            assert (answer.json["message_id"], answer.json["replayed"]) == (old, True)
            assert answer.json["state"] == "failed"
            await submit_again(gateway, peer)

    async def test_another_document_has_no_claim_to_the_key(self, gateway, peer):
        """Only the same one is sent again."""
        await unsent(gateway, peer, **KEY)
        answer = await gateway.submitted(b"<Another/>", to=peer, **KEY)
        assert refused(answer) == (409, "IdempotencyKeyTaken")

    @pytest.mark.parametrize("end", [doubtful, fenced])
    async def test_under_the_key_of_a_doubt_the_old_message_answers(self, tmp_path, peer, end):
        """With its state, so that a person can decide."""
        async with running(tmp_path, peer, terms=SHORT_LIVED, drill=CLOCK) as gateway:
            old = await end(gateway, peer, **KEY)
            answer = await submit_again(gateway, peer)
            assert (answer["message_id"], answer["replayed"]) == (old, True)
            assert answer["is_certain"] is False
            assert gateway.rows(Event.RESENT) == []


class TestPersonsWord:
    """What may have been delivered goes out as a new message on somebody's word and reason."""

    @pytest.fixture
    async def old(self, tmp_path, peer) -> AsyncIterator[tuple[RunningGateway, str]]:
        """A message that failed by its fence alone."""
        async with running(tmp_path, peer, terms=SHORT_LIVED, drill=CLOCK) as gateway:
            yield gateway, await fenced(gateway, peer)

    async def test_without_it_nothing_goes_out(self, old):
        """The refusal says what is missing."""
        gateway, message_id = old
        answer = await resend(gateway, message_id, reason="it is urgent")
        assert refused(answer) == (409, "NotResendable")
        assert "anyway" in answer.json["error"]["text"]

    @pytest.mark.parametrize("reason", [None, "", "  "])
    async def test_a_word_without_a_reason_is_none(self, old, reason):
        """Somebody will ask for it."""
        gateway, message_id = old
        answer = await resend(gateway, message_id, anyway=True, reason=reason)
        assert refused(answer) == (400, "InvalidField")

    async def test_a_word_is_not_given_beside_a_question(self, old):
        """A new version asks the partner; whoever asks does not know better."""
        gateway, message_id = old
        answer = await resend(gateway, message_id, anyway=True, new_version=True, reason="both")
        assert refused(answer) == (400, "InvalidField")

    async def test_with_it_a_new_message_goes_out(self, old, peer):
        """And the journal has the reason."""
        gateway, message_id = old
        answer = await resend(gateway, message_id, anyway=True, reason="they have not got it")
        new = answer.json["resent_as"]
        assert (answer.status, answer.json["state"]) == (200, "failed")
        await gateway.until(lambda: peer.heard("NewOrder")[-1].message_id == new)
        [row] = gateway.rows(Event.RESENT)
        assert row.reason == f"as {new}: an operator asked for it: they have not got it"

    async def test_what_was_taken_back_needs_it_too(self, gateway, peer):
        """Somebody wanted it not to be sent."""
        await gateway.call("POST", f"/v1/partners/{peer.party}/suspend", json={})
        message_id = await gateway.submit(ORDER, to=peer)
        await gateway.call("POST", f"/v1/messages/{message_id}/cancel")
        assert refused(await resend(gateway, message_id)) == (409, "NotResendable")
        answer = await resend(gateway, message_id, anyway=True, reason="wanted after all")
        assert answer.json["resent_as"] is not None

    async def test_no_word_sends_what_is_under_way_or_has_arrived(self, gateway, peer):
        """Nothing ended that could be sent again."""
        message_id = await gateway.submit(ORDER, to=peer)
        await peer.hear("NewOrder")
        for _ in ("sending", "acknowledged"):
            answer = await resend(gateway, message_id, anyway=True, reason="hurry")
            assert refused(answer) == (409, "NotResendable")
            await back(gateway, peer, message_id)


async def test_a_message_that_goes_out_again_itself_is_not_doubled(tmp_path, peer):
    """It keeps its turn in the suspended pair, and goes first when that is resumed."""
    terms = {**TERMS, "on_exhausted": "suspend"}
    async with running(tmp_path, peer, terms=terms) as gateway:
        message_id = await doubtful(gateway, peer)
        answer = await resend(gateway, message_id, anyway=True, reason="hurry")
        assert refused(answer) == (409, "NotResendable")
        assert "resumed" in answer.json["error"]["text"]


async def test_nobody_sends_a_doubt_beside_what_a_person_sent_for_it(tmp_path):
    """Neither an operator under its old id nor a cancel that is confirmed late."""
    partner = Peer("urn:duns:111111111")
    await partner.listen()
    partner.answer_always = UNAVAILABLE
    terms = {**BRIEF, "on_exhausted": "fail"}
    async with running(tmp_path, partner, terms=terms) as gateway:
        message_id = await gateway.submit(ORDER, to=partner)
        await gateway.until_state(message_id, "in_doubt")
        asked = await resend(gateway, message_id, new_version=True)
        assert asked.json["recovery"]["wants_new_version"] is True
        answer = await resend(gateway, message_id, anyway=True, reason="they have not got it")
        new = answer.json["resent_as"]
        assert refused(await resend(gateway, message_id)) == (409, "NotResendable")
        await gateway.until(lambda: partner.heard("CancelRequest"))
        await report(partner, partner.heard("CancelRequest")[0])
        await gateway.until_state(message_id, "cancelled")
        found = await gateway.get(f"/v1/messages/{message_id}")
        assert (found["resent_as"], found["recovery"]["replaced_by"]) == (new, None)
    await partner.close()
