"""`onceonly message evidence`: what proves a message, to be shown to somebody who trusts nobody.

The envelopes come from the gateway; whether they prove anything is found here, from their bytes.
"""

import hashlib
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from onceonly.api.sent import MessageEvidence
from onceonly.cli.exits import Exit, Failure
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.output import output_option, print_json, print_rows, say
from onceonly.client import Client
from onceonly.evidence import REFUSED, Looked, finding_on, look_at
from onceonly.message.errors import LocalError, RemoteError

COLUMNS = ("what", "file", "signer", "verdict")
NO_SIGNATURE = "without a signature"


@click.command()
@click.argument("message_id")
@click.option(
    "--to",
    "into",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write to, which is made; no file in it is replaced.",
)
@output_option
@gateway_command
def evidence(client: Client, message_id: str, into: Path | None, output: str) -> None:
    """Show what proves a message, and that the partner has it (ebMS 2.0).

    With --to it writes the signed envelopes as they left and came, the certificates, the payloads
    that are still here, and verification.json: what was verified, and how. Whoever gets the folder
    can verify it by other means: docs/how-to/sign.md says how.

    \b
    onceonly message evidence 4711@a.example.com -c gateway.toml
    onceonly message evidence 4711@a.example.com -c gateway.toml --to evidence
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    kept = client.evidence(message_id)
    looked = list(_looked(kept))
    record = _record(message_id, kept, looked)
    if into is not None:
        _write(client, message_id, into, looked, record)
    if output == "json":
        print_json(record)
    else:
        print_rows(record["envelopes"], COLUMNS, output)
        say(record["verdict"])
    if not record["is_evidence"]:
        raise Failure(Exit.DIFFERENCES, f"{message_id}: {record['verdict']}")


def _looked(kept: MessageEvidence) -> Iterator[Looked]:
    for proof in kept.envelopes:
        if proof.kind != REFUSED:
            try:
                yield look_at(proof)
            except RemoteError as error:
                text = f"the {proof.kind} cannot be read: {error.description}"
                raise Failure(Exit.UNEXPECTED, text) from error


def _record(message_id: str, kept: MessageEvidence, looked: list[Looked]) -> dict[str, Any]:
    """The verification record."""
    finding = finding_on(message_id, looked)
    refused = sum(one.kind == REFUSED for one in kept.envelopes)
    return {
        "message_id": message_id,
        "verdict": finding.words,
        "is_evidence": finding.is_evidence,
        "was_refused_before": bool(refused),
        "envelopes": [_row(one) for one in looked],
    }


def _name(one: Looked) -> str:
    return f"{one.kind}.xml"


def _row(one: Looked) -> dict[str, Any]:
    trouble = one.found.trouble
    is_agreed = one.signer == one.proof.signer
    verdict = "signature verified" if trouble is None else trouble
    if trouble is None and not is_agreed:
        verdict = "signed by another certificate than the gateway verified"
    return {
        "what": one.kind,
        "file": _name(one),
        "sha256": hashlib.sha256(one.document).hexdigest(),
        "from": one.proof.from_party,
        "to": one.proof.to_party,
        "signer": one.signer or NO_SIGNATURE,
        "method": one.found.method,
        "verified_at": one.proof.verified_at,
        "verdict": verdict,
        "acknowledges": one.found.acknowledged,
        "references": [
            {"uri": ref.uri, "method": ref.digest_method, "digest": ref.digest_value}
            for ref in (one.found.copied or one.found.references)
        ],
    }


def _write(
    client: Client, message_id: str, into: Path, looked: list[Looked], record: dict[str, Any]
) -> None:
    files = {_name(one): one.document for one in looked}
    for one in looked:
        if one.found.certificate is not None:
            pem = ssl.DER_cert_to_PEM_cert(one.found.certificate)
            files[f"{one.kind}-signer.pem"] = pem.encode()
    files |= _payloads(client, message_id)
    record["files"] = {
        name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())
    }
    files["verification.json"] = msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"
    try:
        into.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            with (into / name).open("xb") as file:
                file.write(content)
    except OSError as error:
        raise click.BadParameter(f"{into}: {error.strerror}", param_hint="--to") from error


def _payloads(client: Client, message_id: str) -> dict[str, bytes]:
    """Those of a message of ours that is not forgotten; the signature has their digests."""
    try:
        described = client.get(message_id).payloads
    except LocalError:
        return {}
    return {
        f"payload-{one.n}": b"".join(client.sent_payload(message_id, one.n)) for one in described
    }
