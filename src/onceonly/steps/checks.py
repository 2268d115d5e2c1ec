"""What the gateway looks at in a package before it takes it, in the order in which it looks.

The code that looks says of each check that it was passed; the first that it does not say that of is
the one that failed. So whoever wants to tell an integration engineer why a package is refused needs
no second reading of the rules.
"""

from collections.abc import Callable
from enum import Enum


class Check(Enum):
    """One look at a package. The value says what is true of a package that passes it."""

    EXCHANGE = "it speaks of the exchange in which it came"
    CALLER = "its caller shows what is asked of the callers for what it names"
    AGREEMENT = "it names an agreement that is configured here"
    FROM = "the From party is the partner of the agreement"
    TO = "the To party is us, as the agreement has it"
    PROFILE = "its profile is that of the agreement"
    SERVICE = "its roles, service and action are those of the agreement, if it names any"
    RECEIVER_URI = "the last ReceiverURI is ours"
    TIMES = "no RoutingHeader was made before its message"
    SIGNATURE = "it has the signature that was agreed, and claims no other"
    TERMS = "what its header asks for is what was agreed"
    NUMBER = "it has a SequenceNumber where one was agreed"


ADMISSION = (Check.EXCHANGE, Check.CALLER)
"""Asked of everything that comes in."""

AGREED = (
    Check.AGREEMENT,
    Check.FROM,
    Check.TO,
    Check.PROFILE,
    Check.SERVICE,
    Check.RECEIVER_URI,
    Check.TIMES,
    Check.SIGNATURE,
    Check.TERMS,
    Check.NUMBER,
)
"""Asked of a business message that ends here (`steps.agreements`)."""


class SignatureCheck(Enum):
    """One look at the signature of a package. The value says what is true of one that passes it."""

    SIGNED = "it has the signature that was agreed, in a form that is accepted"
    DIGESTS = "the digests in its signature are those of the envelope and of each payload that came"
    SIGNER = "the value of its signature is by one of the partner's certificates"
    VALIDITY = "that certificate was valid at the Timestamp of the message"


Passed = Callable[[Check], None]
"""Told of each check that was passed."""


def unnoted(_: Check | SignatureCheck, /) -> None:
    """Nobody wants to know."""
