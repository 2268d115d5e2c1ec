"""What is measured: pairs, messages and writers, and the configuration of both gateways."""

import json
from pathlib import Path
from typing import Any

from onceonly.demo.gateways import free_ports
from onceonly.demo.signers import make_signer

Case = dict[str, Any]

BUYER = "urn:duns:111111111"


def case_of(
    pairs: int,
    per_pair: int,
    *,
    profile: str = "rm-2000",
    writers: int = 1,
    kind: str = "gateway",
    beside: str | None = None,
    signed: str = "nothing",
) -> Case:
    """`writers` applications hand over the messages of each pair, one after the other each.

    As many of them as the window of `rm-2001` is large keep it full; the floor has as many in
    flight as there are writers. The rate is also set beside that of the case named `beside`.
    `signed` is one of `SIGNED`.
    """
    window = 1 if profile == "rm-2000" else max(16, writers)
    return {
        "kind": kind,
        "pairs": pairs,
        "per_pair": per_pair,
        "profile": profile,
        "window": window,
        "writers": writers,
        "beside": beside,
        "signed": signed,
    }


SIGNED = {
    "nothing": (),
    "messages": ('sign = "messages"',),
    "receipts": ('sign = "all"', 'ack_requested = "Signed"'),
}
"""What is signed, as lines of the agreement: nothing, the messages, or the acknowledgements too."""

SIDES = ("sender", "receiver")


CASES = {
    "pair-stop-and-wait": case_of(1, 1500),
    "200-pairs": case_of(200, 40),
    "pair-one-writer-rm-2001": case_of(1, 1500, profile="rm-2001"),
    "pair-window-16": case_of(1, 3200, profile="rm-2001", writers=16),
    "pair-window-256": case_of(1, 7680, profile="rm-2001", writers=256, beside="200-pairs"),
    "pairs-200-rm-2001": case_of(200, 40, profile="rm-2001", beside="200-pairs"),
    "pair-one-writer-ebms-2.0": case_of(
        1, 1500, profile="ebms-2.0", beside="pair-one-writer-rm-2001"
    ),
    "pair-window-16-ebms-2.0": case_of(
        1, 3200, profile="ebms-2.0", writers=16, beside="pair-window-16"
    ),
    "pair-one-writer-ebms-2.0-signed": case_of(
        1, 1500, profile="ebms-2.0", beside="pair-one-writer-ebms-2.0", signed="messages"
    ),
    "pair-one-writer-ebms-2.0-receipts": case_of(
        1, 1500, profile="ebms-2.0", beside="pair-one-writer-ebms-2.0", signed="receipts"
    ),
    "api-one-writer": case_of(1, 500, kind="api", beside="pair-stop-and-wait"),
    "api-one-writer-rm-2001": case_of(
        1, 500, profile="rm-2001", kind="api", beside="pair-one-writer-rm-2001"
    ),
    "api-16-writers-rm-2001": case_of(
        1, 960, profile="rm-2001", writers=16, kind="api", beside="pair-window-16"
    ),
}
"""The cases of kind `api` go through the HTTP API of two `onceonly serve`; the others submit in
the sender's process, as an embedding application does."""

PEERS = {
    "rabbitmq-quorum-stop-and-wait": case_of(1, 1500, kind="rabbit"),
    "rabbitmq-quorum-256-in-flight": case_of(1, 7680, kind="rabbit", writers=256),
}


def smaller(case: Case) -> Case:
    """The case with so few messages that it takes the time of its processes."""
    return {**case, "pairs": min(case["pairs"], 3), "per_pair": 2 * case["writers"]}


def messages_of(case: Case) -> int:
    return int(case["pairs"] * case["per_pair"])


def sellers_of(case: Case) -> list[str]:
    """The partners of the buyer, all of whom live in the other gateway."""
    return [f"urn:duns:{222_000_000 + number}" for number in range(case["pairs"])]


def write_configurations(directory: Path, case: Case) -> dict[str, Path]:
    """The files of `sender` and `receiver`, which know each other: configurations, and keys."""
    there, back, *apis = free_ports(4)
    ports = {"receiver": (there, back, apis[0]), "sender": (back, there, apis[1])}
    written = {}
    for side, (port, their_port, api) in ports.items():
        if SIGNED[case["signed"]]:
            make_signer(directory / f"{side}.key", directory / f"{side}.pem", side)
        written[side] = directory / f"{side}.toml"
        written[side].write_text(_configuration(side, port, their_port, api, case))
    return written


def _configuration(side: str, port: int, their_port: int, api: int, case: Case) -> str:
    sellers = sellers_of(case)
    (other,) = set(SIDES) - {side}
    signing = SIGNED[case["signed"]]
    if signing:
        signing = (*signing, f'partner_certificates = ["{other}.pem"]')
    lines = [
        "[gateway]",
        f"party = {json.dumps([BUYER] if side == 'sender' else sellers)}",
        f'listen = "http://127.0.0.1:{port}/msh"',
        f'api = "http://127.0.0.1:{api}"',
        f'store = "{side}.db"',
        f'lake = "{side}-lake"',
    ]
    if signing:
        lines += ["[[identity]]", f'id = "{side}"', f'certificate = "{side}.pem"']
        lines += [f'key = "{side}.key"']
    for number, seller in enumerate(sellers):
        with_, party = (seller, BUYER) if side == "sender" else (BUYER, seller)
        lines += [
            "[[agreement]]",
            f'id = "tpa-{number}"',
            f'with = ["{with_}"]',
            f'party = ["{party}"]',
            f'profile = "{case["profile"]}"',
            f"window = {case['window']}",
            f'send_to = "http://127.0.0.1:{their_port}/msh"',
            *signing,
        ]
    return "\n".join(lines) + "\n"
