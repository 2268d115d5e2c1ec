"""The keys of `[[identity]]`, and those of `[[agreement]]` that are about signatures."""

from typing import Any

from onceonly.gateway.config import values as read
from onceonly.gateway.config.cpa_values import instant
from onceonly.gateway.config.key import FLAG, Key, listed, table_of
from onceonly.gateway.config.values import Illegal
from onceonly.message.signing import Canonicalization, SignatureAlgorithm, Signed

INSTANT = "an instant with a time zone, such as 2027-01-31T08:00:00Z"


def names(value: Any) -> tuple[str, ...]:
    """A list of texts, each once, and at least one."""
    if not isinstance(value, list) or not value or len(set(map(str, value))) < len(value):
        raise Illegal(f"{value!r} is not a list of different texts")
    return tuple(read.text(one) for one in value)


IDENTITY_KEYS = table_of(
    Key(
        "id",
        read.identifier,
        "a text without white space",
        "The name of the identity, for `identities` of an agreement.",
        is_required=True,
        section="ours",
    ),
    Key(
        "certificate",
        read.text,
        "a path",
        "PEM file with the certificate that goes into our signatures.",
        is_required=True,
        section="ebMS 2.0 §4.1",
    ),
    Key(
        "key",
        read.text,
        "a path",
        "PEM file with its private key, without a passphrase. The gateway does not start if others "
        "may read it.",
        is_required=True,
        section="ebMS 2.0 §4.1",
    ),
    Key(
        "from",
        instant,
        INSTANT,
        "When we begin to sign with it, so that partners can have the certificate before. We sign "
        "with the identity that began last.",
        default_text="when the certificate's validity begins",
        section="ours",
    ),
)

SIGNING_KEYS = (
    Key(
        "sign",
        read.one_of(Signed),
        listed(Signed),
        "What we sign: business messages, or every message. An acknowledgement that is asked for "
        "with signed is always signed. `ebms-2.0` only.",
        default=Signed.NONE,
        default_text='`"none"`',
        section="ebMS 2.0 §4.1",
    ),
    Key(
        "require_signature",
        read.one_of(Signed),
        listed(Signed),
        "What the partner must sign; everything else is refused with SecurityFailure.",
        default_text="as `sign`",
        section="ebMS 2.0 §4.1",
    ),
    Key(
        "identities",
        names,
        "a list of ids of [[identity]]",
        "The identities that may sign here.",
        default_text="all",
        section="ours",
    ),
    Key(
        "partner_certificates",
        names,
        "a list of paths",
        "PEM files with the certificates that the partner signs with, old and new ones. One counts "
        "if it was valid at the Timestamp of the message; one that is taken away is revoked.",
        section="CPA 2.0, Certificate",
    ),
    Key(
        "signature_algorithm",
        read.one_of(SignatureAlgorithm),
        listed(SignatureAlgorithm),
        "How we sign.",
        default_text="SHA-256 with an RSA key, and the hash that fits the curve of another",
        section="CPA 2.0, SignatureAlgorithm",
    ),
    Key(
        "canonicalization",
        read.one_of(Canonicalization),
        listed(Canonicalization),
        "By which canonical form we sign.",
        default=Canonicalization.INCLUSIVE,
        default_text='`"inclusive"`',
        section="ebMS 2.0 §4.1.3",
    ),
    Key(
        "accept_sha1",
        read.flag,
        FLAG,
        "Take signatures of the partner that rest on SHA-1, which is broken; an incident says so "
        "once a day.",
        default=False,
        default_text="`false`",
        section="ours",
    ),
    Key(
        "xml_part_transforms",
        read.flag,
        FLAG,
        "Take signatures of the partner that cover a payload in XML by its canonical form, of 1 "
        "MiB and 20,000 elements at most. What the form levels out, such as comments, is then not "
        "covered.",
        default=False,
        default_text="`false`",
        section="ours; XML-DSig §6.6",
    ),
)
"""Of `[[agreement]]`."""
