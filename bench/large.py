"""One large signed message through two gateways: how much memory each takes, and how long it lasts.

    PYTHONPATH=src python -m bench.large --mebibytes 1024

Two `onceonly serve` in ebms-2.0, which sign the message and its acknowledgement. The document comes
from a file, as an application hands it over, and is fetched from the inbox again; evidence of
receipt is verified. Memory is what the system says that each process had at most, less what it had
before the message.
"""

import argparse
import asyncio
import json
import tempfile
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256

from bench.api import Served
from bench.workload import SIDES, case_of, sellers_of, write_configurations
from onceonly.client import Client
from onceonly.demo.receipts import is_proven
from onceonly.demo.verdict import Sent

MEBIBYTE = 1 << 20
END_S = 900
WAIT_S = 60


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--mebibytes", type=int, default=1024, help="1024 is what is allowed")
    with tempfile.TemporaryDirectory(prefix="onceonly-large-") as directory:
        figures = measure(Path(directory), arguments.parse_args().mebibytes)
    print(json.dumps(figures, indent=2))


def measure(directory: Path, mebibytes: int) -> dict[str, Any]:
    """Exchange it. Raises `SystemExit` for anything but one delivery that is proven."""
    case = case_of(1, 1, profile="ebms-2.0", signed="receipts")
    paths = write_configurations(directory, case)
    document = directory / "large.bin"
    digest = write_document(document, mebibytes)
    served = {side: Served(paths[side]) for side in SIDES}
    try:
        for one in served.values():
            asyncio.run(one.ready())
        return exchanged(served, document, digest, sellers_of(case)[0])
    finally:
        for one in served.values():
            one.end()


def write_document(path: Path, mebibytes: int) -> str:
    """So many mebibytes, no two of them alike. Returns their digest."""
    digest = sha256()
    with path.open("wb") as file:
        for number in range(mebibytes):
            piece = sha256(b"%d" % number).digest() * (MEBIBYTE // 32)
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()


def exchanged(
    served: dict[str, Served], document: Path, digest: str, seller: str
) -> dict[str, Any]:
    """The figures of one message."""
    for one in served.values():
        # A start takes more than the gateway has afterwards, which would hide what a message takes.
        one.forget_peak()
    before = {side: one.memory_bytes("VmHWM") for side, one in served.items()}
    began = time.perf_counter()
    with Client(address(served["sender"])) as sender:
        sent = sender.submit(
            [(document, "application/octet-stream", "large.bin")],
            to=seller,
            service="urn:services:Ordering",
            action="NewOrder",
        )
        submitted_s = time.perf_counter() - began
        until_acknowledged(sender, sent.message_id)
        acknowledged_s = time.perf_counter() - began
        # The peaks are of the exchange; what reading the inbox takes comes on top, and counts, too.
        with Client(address(served["receiver"])) as receiver:
            (item,) = receiver.inbox(after=0, limit=2)
            fetched = sha256()
            for piece in receiver.payload(item, 0):
                fetched.update(piece)
        claimed = Sent(sent.message_id, "sender", "receiver", (digest,))
        kept = sender.evidence(sent.message_id).envelopes
        if fetched.hexdigest() != digest or not is_proven(claimed, kept, signers(document.parent)):
            raise SystemExit("what arrived is not what was sent, or nothing proves it")
        transmissions = sender.get(sent.message_id).attempt
    return {
        "payload_mib": document.stat().st_size // MEBIBYTE,
        "transmissions": transmissions,
        "submitted_s": round(submitted_s, 1),
        "acknowledged_s": round(acknowledged_s, 1),
        "fetched_s": round(time.perf_counter() - began, 1),
        **{
            f"{side}_{name}_mib": round(number / MEBIBYTE, 1)
            for side, one in served.items()
            for name, number in (
                ("peak", one.memory_bytes("VmHWM")),
                ("growth", one.memory_bytes("VmHWM") - before[side]),
            )
        },
    }


def address(served: Served) -> str:
    host, port = served.address
    return f"http://{host}:{port}"


def until_acknowledged(client: Client, message_id: str) -> None:
    end = time.perf_counter() + END_S
    while (state := client.get(message_id, wait_s=WAIT_S).state) != "acknowledged":
        if time.perf_counter() > end or state not in ("queued", "sending"):
            raise SystemExit(f"the message is {state}")


def signers(directory: Path) -> dict[str, str]:
    """The fingerprint of each side's certificate."""
    found = {}
    for side in SIDES:
        pem = (directory / f"{side}.pem").read_bytes()
        found[side] = x509.load_pem_x509_certificate(pem).fingerprint(SHA256()).hex()
    return found


if __name__ == "__main__":
    main()
