"""What a profile is: a wire form, and the rules of its text as data.

A rule that differs between profiles is a trait here, and code that needs the rule reads the trait.
No code asks which profile it has, so a new profile is a new value and a codec for it
(`wire.registry`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profile:
    """A wire form and the rules of its text. Each profile is one object, compared by identity."""

    RM_2000: ClassVar["Profile"]
    """The text of seed 000."""
    RM_2001: ClassVar["Profile"]
    """The text of seed 001."""
    EBMS_2_0: ClassVar["Profile"]
    """ebXML Message Service 2.0, the standard."""

    name: str
    """The name in configuration, journal and API."""
    is_numbered: bool
    """Reliable messages carry SequenceNumbers, one in flight per pair (seed 000 §2.1.3)."""
    has_routing_headers: bool
    """Each hop adds a RoutingHeader, which names both MSHs, and signals go from MSH to MSH. Without
    them the header asks for all there is, and signals go from party to party."""
    has_error_uri: bool
    """Each RoutingHeader names an ErrorURI (seed 000 §2.2.2)."""
    header_decides_semantics: bool
    """The header alone says the degree of reliability (seed 000 §5.1 (6)); otherwise it must say
    what was agreed, or nothing (seed 001 §1.2.1)."""
    header_has_parameters: bool
    """Headers name further agreed parameters: TimeToLive, syncReplyMode, the method, and which
    acknowledgement and receipt are asked for (seed 001 §1.2). What they leave out is as agreed."""
    header_names_semantics: bool
    """Headers have words for the degree of reliability and for syncReplyMode. Where they only ask
    for what these consist of, for an acknowledgement, for suppression, for an answer at once, the
    degree is no part of the content (R-37)."""
    acknowledges_on_request: bool
    """A message is acknowledged only if its header asks for that (R-29); otherwise its degree of
    reliability says it."""
    response_acknowledges: bool
    """A business response shows that its request arrived, and answers its repeats (seed 001 §1.3.3
    (8b) and (9))."""
    has_timeout: bool
    """The first wait for an answer is a Timeout of its own (seed 001 §1.3); without it the first
    wait is a RetryInterval, as all others are."""
    has_cancels: bool
    """An MSH can be asked to cancel a message, to say how far its application is with it, and to
    send a response again (seed 004 levels 3 and 5)."""
    has_transient_errors: bool
    """There is an error that asks for a pause: TransientError with MinRetrySecs (seed 000 §4.2)."""
    has_order: bool
    """Messages of a conversation may be numbered, and handed over in that order (R-34)."""
    has_cpa: bool
    """A CPA says which roles, services and actions there are, and each header names them."""
    has_receipts: bool
    """The To Party can give delivery receipts (seed 001 §2.1.1)."""
    has_failure_notices: bool
    """There is a DeliveryFailure notice to the From Party (seed 001 §1.6, ruling R-14)."""
    has_signatures: bool
    """Messages and acknowledgements can be signed, in the header document itself."""
    has_accepting_intermediaries: bool
    """An intermediary may acknowledge in its own name and own the delivery (ruling R-13)."""
    reads_every_answer: bool
    """The answer of a transport may be a package or a SOAP Fault, whatever was asked for; otherwise
    only what the agreement lets come there is read (seed 000 §2.5.1, seed 001 §1.2.2)."""
    answers_at_once: bool
    """Whoever asks for an answer in that of the transport always gets one there: the response, or
    after the wait the acknowledgement alone, an error, or what answers a repeat (`ebms2.md` §14).
    """
    drops_repeated_mail: bool
    """A mail whose own Message-ID was seen before is a copy that a mail system made, and is dropped
    (`ebms2.md` §14); otherwise it is one more copy of its message."""
    soap_action: str | None
    """What the header SOAPAction of a transmission says if nothing else is agreed (`ebms2.md` §14);
    None: there is no such header."""
    signal_service: str
    """The Service of signals; empty where they have none."""

    def __reduce__(self) -> tuple[Callable[[str], "Profile"], tuple[str]]:
        # Pickled by its name, so that another process too has only one object of each.
        return profile_named, (self.name,)


Profile.RM_2000 = Profile(
    name="rm-2000",
    is_numbered=True,
    has_routing_headers=True,
    has_error_uri=True,
    header_decides_semantics=True,
    header_has_parameters=False,
    header_names_semantics=True,
    acknowledges_on_request=False,
    response_acknowledges=False,
    has_timeout=True,
    has_cancels=True,
    has_transient_errors=True,
    has_order=False,
    has_cpa=False,
    has_receipts=False,
    has_failure_notices=False,
    has_signatures=False,
    has_accepting_intermediaries=False,
    reads_every_answer=False,
    answers_at_once=False,
    drops_repeated_mail=False,
    soap_action=None,
    signal_service="",
)
Profile.RM_2001 = Profile(
    name="rm-2001",
    is_numbered=False,
    has_routing_headers=True,
    has_error_uri=False,
    header_decides_semantics=False,
    header_has_parameters=True,
    header_names_semantics=True,
    acknowledges_on_request=False,
    response_acknowledges=True,
    has_timeout=True,
    has_cancels=True,
    has_transient_errors=True,
    has_order=False,
    has_cpa=False,
    has_receipts=True,
    has_failure_notices=True,
    has_signatures=False,
    has_accepting_intermediaries=True,
    reads_every_answer=False,
    answers_at_once=False,
    drops_repeated_mail=False,
    soap_action=None,
    signal_service="",
)
Profile.EBMS_2_0 = Profile(
    name="ebms-2.0",
    is_numbered=False,
    has_routing_headers=False,
    has_error_uri=False,
    header_decides_semantics=False,
    header_has_parameters=True,
    header_names_semantics=False,
    acknowledges_on_request=True,
    response_acknowledges=False,
    has_timeout=False,
    has_cancels=False,
    has_transient_errors=False,
    has_order=True,
    has_cpa=True,
    has_receipts=False,
    has_failure_notices=True,
    has_signatures=True,
    has_accepting_intermediaries=True,
    reads_every_answer=True,
    answers_at_once=True,
    drops_repeated_mail=True,
    soap_action="ebXML",
    signal_service="urn:oasis:names:tc:ebxml-msg:service",
)

PROFILES: Final = (Profile.RM_2000, Profile.RM_2001, Profile.EBMS_2_0)
"""The profiles of onceonly, the oldest first."""


def profile_named(name: str) -> Profile:
    """The profile of onceonly with this name. Raises `KeyError` for an unknown name."""
    return _BY_NAME[name]


_BY_NAME: Final = {profile.name: profile for profile in PROFILES}
