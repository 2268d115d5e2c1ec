"""What is explained of a request is what a gateway that runs then answers to it."""

import io
import re
from datetime import UTC, datetime

import anyio
import pytest

from onceonly.explain.answering import Circumstances
from onceonly.explain.explaining import explain
from onceonly.explain.explanation import AnswerCase, Explanation
from onceonly.message.instant import from_datetime

pytestmark = pytest.mark.anyio

Said = tuple[int, str | None, str | None]
"""Status, name and sentence."""
AHEAD = re.compile(r"\b\d+(?= s ahead of the clock)")


def explained(request: bytes, configuration) -> Explanation:
    at = Circumstances(from_datetime(datetime.now(UTC)))
    return explain(io.BytesIO(request), "it", configuration=configuration, around=at)


async def cases_of(request: bytes, gateway) -> list[AnswerCase]:
    # In a thread, since a rehearsal has an event loop of its own.
    found = await anyio.to_thread.run_sync(explained, request, gateway.configuration)
    assert found.answer is not None
    return list(found.answer.cases)


def said_by(reply) -> Said:
    names = {name.lower(): value for name, value in reply.headers.items()}
    return reply.status, names.get("onceonly-error"), names.get("onceonly-reason")


def said_in(case: AnswerCase) -> Said:
    return case.status, case.error, case.reason


def said_between(first: Said, last: Said) -> list[Said]:
    """What may be said from one explanation to the next, a distance to the clock shrinking."""
    ends = [AHEAD.search(reason or "") for *_, reason in (first, last)]
    if not all(ends):
        return [first, last]
    high, low = (int(end[0]) for end in ends)
    return [(*first[:2], AHEAD.sub(str(s), first[2])) for s in range(low, high + 1)]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"semantics": "BestEffort", "number": None},
        {"agreement": "tpa-zz"},
        {"to_party": "urn:x:1"},
        {"from_party": "urn:x:1"},
        {"receiver_uri": "http://x.example/msh"},
        {"timestamp": "20200101T000000.000Z"},
        {"timestamp": "20990101T000000.000Z"},
        {"edit": lambda text: text.replace("<Action>", "<Action><b/>")},
        {"edit": lambda text: text[:300]},
    ],
)
async def test_the_first_case_is_the_answer_to_a_new_message(gateway, peer, fields):
    """Status, name and sentence, of what is taken and of what is refused."""
    number = fields.get("number", 1)
    given = {name: value for name, value in fields.items() if name != "number"}
    request = peer.request(peer.normal("m-1@a.example.com", number, **given))
    first, *_ = await cases_of(request, gateway)
    answered = said_by(await peer.say(request))
    last, *_ = await cases_of(request, gateway)
    assert answered in said_between(said_in(first), said_in(last))


async def test_the_other_cases_are_the_answers_where_the_store_is_so(gateway, peer):
    """A repeat, other content under one MessageId, and a number that does not follow."""
    request = peer.request(peer.normal("m-1@a.example.com", 1))
    other = peer.request(peer.normal("m-1@a.example.com", 1, conversation="another"))
    ahead = peer.request(peer.normal("m-9@a.example.com", 9))
    by_words = {case.when: case for case in await cases_of(ahead, gateway)}
    repeat, collision = (await cases_of(request, gateway))[1:3]
    await peer.say(request)
    assert said_by(await peer.say(request)) == said_in(repeat)
    answered = said_by(await peer.say(other))
    assert answered == said_in(collision)
    found = said_in(by_words["where its SequenceNumber does not follow"])
    assert said_by(await peer.say(ahead))[:2] == found[:2]


async def test_signals_are_answered_as_explained(gateway, peer):
    """By the transport alone, whatever they are about."""
    for kind in ("Acknowledgement", "Ping", "StatusRequest"):
        request = peer.request(peer.signal(kind, "po-1@b.example.com"))
        [only] = await cases_of(request, gateway)
        assert said_by(await peer.say(request)) == said_in(only)


async def test_another_path_is_answered_as_explained(gateway, peer):
    """By the endpoint itself."""
    request = peer.request(peer.normal("m-1@a.example.com", 1)).replace(b"/msh HTTP", b"/no HTTP")
    [only] = await cases_of(request, gateway)
    assert said_by(await peer.say(request)) == said_in(only)
