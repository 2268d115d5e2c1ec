"""Evidence of receipt, verified from outside: the third witness of a signed demonstration.

Fetches what each sender's gateway keeps of a message, and believes nothing of it but the bytes: the
signatures stand, they are by the certificates that the demonstration made, and the acknowledgement
has the digests of what was handed over. Must not know journals or the lake.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping

from onceonly.api.sent import KeptProof
from onceonly.client import Client
from onceonly.demo.gateways import DemoFailed, Site
from onceonly.demo.verdict import Sent
from onceonly.evidence import ACKNOWLEDGMENT, MESSAGE, REFUSED, finding_on, look_at
from onceonly.message.errors import LocalError, OnceonlyError, RemoteError


def proven(site: Site, sent: Iterable[Sent], signers: Mapping[str, str]) -> frozenset[str]:
    """Ids of the messages of that site of which evidence of receipt verifies.

    `signers` has the fingerprint of each site's certificate. Raises `DemoFailed`.
    """
    try:
        with Client(site.api) as client:
            return frozenset(one.message_id for one in sent if _is_proven(client, one, signers))
    except OnceonlyError as error:
        raise DemoFailed(f"the {site.name}'s evidence cannot be had: {error}") from error


def _is_proven(client: Client, sent: Sent, signers: Mapping[str, str]) -> bool:
    try:
        kept = client.evidence(sent.message_id).envelopes
    except LocalError as error:
        if error.name == "NotFound":
            return False
        raise
    return is_proven(sent, kept, signers)


def is_proven(sent: Sent, kept: Iterable[KeptProof], signers: Mapping[str, str]) -> bool:
    """Whether these envelopes prove to anybody that its receiver has just this message."""
    try:
        looked = {one.kind: look_at(one) for one in kept if one.kind != REFUSED}
    except RemoteError:
        return False
    if not finding_on(sent.message_id, looked.values()).is_receipt:
        return False
    by = {kind: one.signer for kind, one in looked.items()}
    if by != {MESSAGE: signers[sent.sender], ACKNOWLEDGMENT: signers[sent.receiver]}:
        return False
    copied = {one.digest_value for one in looked[ACKNOWLEDGMENT].found.copied}
    return {b64encode(bytes.fromhex(one)).decode() for one in sent.digests} <= copied
