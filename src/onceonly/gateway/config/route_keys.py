"""The keys of `[[route]]`: an intermediary's side of what two others agreed (R-13)."""

from onceonly.gateway.config import values as read
from onceonly.gateway.config.agreement_keys import (
    ACK_REQUESTED,
    CALLER_CERTIFICATE,
    ENTRANCES,
    FAIL_FAST,
    MSH_TIME_ACCURACY,
    NOTIFY_FAILURES,
    PERSIST_DURATION,
    PROFILE,
    RETRIES,
    RETRY_INTERVAL,
    TIME_TO_LIVE,
    TIMEOUT,
    TIMESTAMP_AHEAD_MAX,
    TRANSIENT_RETRIES,
    WINDOW,
)
from onceonly.gateway.config.key import ENDPOINT, FLAG, PARTIES, Key, listed, table_of
from onceonly.message.terms import Intermediary

HOPS_MAX = 16
"""Most RoutingHeaders that an intermediary lets pass by default, so that a loop ends."""

ROUTE_KEYS = table_of(
    Key(
        "id",
        read.identifier,
        "an identifier",
        "Name of the route, in journals and messages to people.",
        is_required=True,
        section="ours",
    ),
    PROFILE._replace(
        meaning="Wire form and rules on both sides of us: a route never changes the profile.",
    ),
    Key(
        "intermediary",
        read.one_of(mode.value for mode in Intermediary),
        f"{listed(Intermediary)} (not in rm-2000)",
        "`relay`: acknowledge upstream only after the downstream acknowledgement. `accept`: "
        "store, acknowledge where that is asked for (in `ebms-2.0` of the next MSH), and own the "
        "delivery (R-13).",
        default="relay",
        default_text='`"relay"`',
        section="seed 000 §4.1, seed 001 §1.3.4, seed 003 §4",
    ),
    Key(
        "from",
        read.parties,
        PARTIES,
        "PartyIds of the party whose messages pass.",
        is_required=True,
        section="seed 000 §4.1.2",
    ),
    Key(
        "to",
        read.parties,
        PARTIES,
        "PartyIds of the party that they are for.",
        is_required=True,
        section="seed 000 §4.1.2",
    ),
    Key(
        "agreement",
        read.identifier,
        "an identifier",
        "TPAId or CPAId of what may pass.",
        default_text="any between these parties",
        section="seed 000 §4.1.2",
    ),
    Key(
        "back_to",
        read.endpoint,
        ENDPOINT,
        "Where acknowledgements and errors for the previous hop go (R-26).",
        is_required=True,
        section="seed 000 §4.1.3",
    ),
    Key(
        "sender_uri",
        read.endpoint,
        ENDPOINT,
        "The URI that the previous hop announces, where it differs from `back_to`.",
        default_text="`back_to`",
        section="seed 000 §2.2.2",
    ),
    Key(
        "send_to",
        read.endpoint,
        ENDPOINT,
        "Where the next hop takes messages (R-26).",
        is_required=True,
        section="seed 000 §4.1.2",
    ),
    Key(
        "receiver_uri",
        read.endpoint,
        ENDPOINT,
        "The URI that the next hop announces, where it differs from `send_to`.",
        default_text="`send_to`",
        section="seed 000 §2.2.2",
    ),
    CALLER_CERTIFICATE._replace(
        meaning="SHA-256 of the certificate that whoever stands beside us on the route shows when "
        "it calls us; a list for several. What comes otherwise is refused.",
    ),
    CALLER_CERTIFICATE._replace(
        name="next_hop_certificate",
        meaning="The certificates of the next hop alone: what it says about messages that we sent "
        "on counts under them only, and those of `caller_certificate` are the previous hop's.",
        default_text="`caller_certificate`",
    ),
    ENTRANCES._replace(meaning="By which ways our neighbours on the route may call us."),
    Key(
        "hops_max",
        read.whole(2, 1000),
        "a count, 2 to 1000",
        "Most hops of a message that goes on from here: its RoutingHeaders, or in `ebms-2.0` what "
        "the header `Onceonly-Hops` of its transmission counts.",
        default=HOPS_MAX,
        default_text=f"`{HOPS_MAX}`",
        unit="hops",
        section="ours",
    ),
    WINDOW._replace(meaning="Most messages of the route in flight at once; `accept` only."),
    ACK_REQUESTED._replace(
        meaning="What the next hop is asked for; `accept` only, not in `rm-2000`. In `ebms-2.0` it "
        "is the acknowledgement of the next MSH, and None takes the request out.",
        default_text="`None`; `Unsigned` in `ebms-2.0`",
    ),
    TIMEOUT._replace(
        meaning="Wait for the next hop's response (Timeout); `accept` only, not in `ebms-2.0`."
    ),
    RETRIES._replace(
        meaning="Most resends to the next hop (Retries); `accept` only.", default_text="`3`"
    ),
    RETRY_INTERVAL._replace(
        meaning="Wait after each resend to the next hop; in `relay` mode the MinRetrySecs of our "
        "Transient Errors.",
    ),
    PERSIST_DURATION._replace(meaning="Least time that we keep what passed (R-19)."),
    TIME_TO_LIVE._replace(
        meaning="Age after which a failure of ours to deliver is final (R-08); `accept` only.",
    ),
    MSH_TIME_ACCURACY,
    TIMESTAMP_AHEAD_MAX,
    TRANSIENT_RETRIES._replace(
        meaning="Most pauses in a row that the next hop may ask for (R-15); `accept` only."
    ),
    FAIL_FAST._replace(
        meaning="Give up as soon as the transport says that nothing left; `accept` only."
    ),
    NOTIFY_FAILURES._replace(
        legal=f"{FLAG}; accept only",
        meaning="Send DeliveryFailure notices to the From Party (R-14).",
        default_text="`true` in `accept` mode",
    ),
)
