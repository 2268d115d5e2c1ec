"""Nothing that a peer sends ends the gateway, whatever it is and by whatever way it comes (R-43).

Every kind of package of both profiles, one field or two of it odd, over every entrance, from
partners, strangers and both neighbours of an intermediary. After each stage an honest message gets
through, everything stored can be shown, and the gateway starts again over it.

    ONCEONLY_ODD_ROUNDS=100 ONCEONLY_ODD_SEED=7 pytest tests/hostile/test_odd_packages.py

is the long run; a round is some 70,000 cases an entrance, and ten minutes. What it finds is a line
that is put into `odd_kept.jsonl`, which is replayed first.
"""

import os

import odd_run
import pytest
from odd_packages import KINDS, fields_of
from odd_stage import ROLES, Case, staged

from broker import running_broker
from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

ROUNDS = int(os.environ.get("ONCEONLY_ODD_ROUNDS", "0"))
SEED = int(os.environ.get("ONCEONLY_ODD_SEED", "1"))
SHORT = {"http": 200, "answer": 160, "mail": 120, "amqp": 60}
"""Cases where nobody asks for rounds: some seconds each."""


def chosen(entrance: str) -> list[Case]:
    """The cases of this run, spread over everything that there is."""
    every = odd_run.cases(SEED, max(1, ROUNDS), entrances=[entrance])
    return every if ROUNDS else every[: SHORT[entrance]]


async def assert_nothing_found(directory, cases, broker_uri=None) -> None:
    found = [one async for one in odd_run.findings(directory, cases, broker_uri)]
    assert not found, "\n" + "\n\n".join(map(str, found))


async def test_what_was_found_once_is_not_found_again(tmp_path):
    """The kept table, replayed case by case."""
    cases = odd_run.kept()
    assert cases
    await assert_nothing_found(tmp_path, cases)


@pytest.mark.parametrize("entrance", ["http", "answer", "mail"])
async def test_no_odd_package_ends_the_gateway(tmp_path, entrance):
    """By HTTP, in the answer to a POST of ours, and by mail."""
    await assert_nothing_found(tmp_path, chosen(entrance))


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with running_broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


async def test_no_odd_package_out_of_a_queue_ends_the_gateway(tmp_path, broker):
    """From a broker, to which what is said about it goes back."""
    await assert_nothing_found(tmp_path, chosen("amqp"), broker.uri(""))


async def test_every_kind_is_whole_where_nothing_is_odd(tmp_path):
    """What is made odd was in order before; else nothing behind the door would be tried."""
    async with staged(tmp_path) as stage:
        refused = {"stranger 2000", "stranger 2001"}
        for entrance, role, kind in odd_run.ways():
            if entrance == "amqp":
                continue
            before = stage.gateway.store.snapshot().last_seq()
            await stage.bring(Case(entrance, role, kind, {}))
            rows = stage.gateway.store.snapshot().list_journal(before, 1000)
            rejected = [row for row in rows if row.event is Event.REJECTED]
            assert role in refused or not rejected, (entrance, role, kind, rejected[0].reason)


def test_every_field_has_a_place():
    """A field that no document shows would be odd in vain."""
    for name, kind in KINDS.items():
        for field in fields_of(name, "http"):
            assert field in kind.fields or field == "outer_field"
    assert {role.profile for role in ROLES.values()} == {"rm-2000", "rm-2001"}
