"""Worlds of what only `ebms-2.0` has: ordered conversations, signatures, a shared CPAId."""

from collections import Counter
from collections.abc import Iterator
from itertools import count, islice

import pytest

from onceonly.message.signing import Signed
from onceonly.simulation.campaign.worlds import run_plan
from onceonly.simulation.generator.workload import plan_of
from onceonly.simulation.plan import Plan
from onceonly.simulation.signing_keys import identity, pinned
from onceonly.simulation.tampering import altered, stripped, swapped
from onceonly.wire.proof import RSA

WORLDS = 12
"""Of each kind, in the short form; campaigns run all that come up."""

KINDS = ("ordered", "signed", "shared-cpa-id", "disorderly")


def worlds(*tags: str) -> Iterator[Plan]:
    """The first worlds that have all of these."""
    return (plan for plan in map(plan_of, count()) if {*tags} <= {*plan.tags})


@pytest.mark.statement("E2-82")
@pytest.mark.parametrize("kind", KINDS)
def test_crashes_lose_nothing_and_double_nothing(kind: str) -> None:
    """E2-82: machines die at any point, and every invariant holds in every world."""
    died = Counter[str]()
    for plan in islice(worlds(kind, "ebms-2.0"), WORLDS):
        result = run_plan(plan)
        assert result.violations == (), plan.seed
        died.update(result.faults)
    assert died


@pytest.mark.statement("E2-82")
@pytest.mark.parametrize("tag", ["kill", "kill-at-point", "power-cut"])
def test_crashes_of_each_kind_strike_in_ordered_and_in_signed_worlds(tag: str) -> None:
    """E2-82: by themselves, at named points, and with what the disk had not kept."""
    for kind in ("ordered", "signed"):
        [plan] = islice(worlds(kind, tag), 1)
        assert run_plan(plan).violations == (), plan.seed


def test_a_fourth_of_all_worlds_has_the_profile() -> None:
    """And each kind of what only it has comes up often enough to be tried."""
    tags = Counter(tag for seed in range(1_000) for tag in plan_of(seed).tags)
    assert tags["ebms-2.0"] >= 250
    assert all(tags[kind] >= 20 for kind in KINDS)


def test_a_signed_world_is_the_same_again() -> None:
    """Its keys are fixed ones, and nothing of a signature is random."""
    plans = [*islice(worlds("signed", "tampered"), 3)]
    assert all(any(line.signs is not Signed.NONE for line in plan.lines) for plan in plans)
    for plan in plans:
        assert run_plan(plan).trace_hash == run_plan(plan).trace_hash


def test_the_keys_are_those_of_the_certificates() -> None:
    """Of each party another one, which signs the same bytes in the same way."""
    fingerprints = {pinned(name).fingerprint for name in "ABCDE"}
    assert len(fingerprints) == 5
    signer = identity("A").signers["rsa-sha256"]
    assert signer.method in RSA
    assert signer.sign(b"order") == signer.sign(b"order")


PACKAGE = (
    b"--b\r\n\r\n<eb:ConversationId>c-1</eb:ConversationId><eb:Action>New</eb:Action>"
    b"  <ds:Signature x>s</ds:Signature>\r\n"
    b"--b\r\n\r\n<Order id='m' part='0'/>\r\n--b\r\n\r\n<Order id='m' part='1'/>\r\n--b--"
)


def test_what_is_tampered_with_is_another_package_of_the_same_form() -> None:
    """One character, the signature, or the places of two payloads."""
    for pick in (lambda _: 0, lambda many: many - 1):
        other = altered(PACKAGE, pick)
        differing = [one for one, two in zip(PACKAGE, other, strict=True) if one != two]
        assert len(differing) == 1
    assert b"Signature" not in stripped(PACKAGE, lambda _: 0)
    places = swapped(PACKAGE, lambda _: 0)
    assert places.index(b"part='1'") < places.index(b"part='0'")
    assert altered(b"nothing of ours", lambda _: 0) == b"nothing of ours"
