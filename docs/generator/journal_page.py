"""Reference: the journal's events, columns and segments."""

from generator.words import attribute_docs, table
from onceonly.journal.record import ADDED, SCHEMA_VERSION, Record
from onceonly.journal.segment import SEGMENT_SCHEMA, segment_name
from onceonly.message.event import Event


def _added() -> str:
    """Which columns came with which version."""
    return " ".join(
        f"Version {version} added {', '.join(f'`{name}`' for name in names)}."
        for version, names in ADDED.items()
    )


INTRODUCTION = f"""# Journal

One row per event in the life of a message, written in the same transaction as the change that it
reports, and never changed. Rows have no payload, so a journal can be shown to a partner or an
auditor. `GET /v1/journal` reads it; `onceonly lake publish` and the running gateway write it to the
lake as closed, immutable Parquet segments:

```text
LAKE/{segment_name("urn:duns:111111111", 1, 50_000)}
```

Publishing twice changes nothing: the same rows have the same name and the same bytes.

Each row has a hash over the row before it and its own columns (`chain_hash`), so an edited,
removed, inserted or moved row is detected. The hash covers the columns of the row's own
`schema_version`, in the order below; the newest is {SCHEMA_VERSION}. {_added()}

## Events

"""

COLUMNS = """
## Columns

Instants are microseconds since 1970-01-01T00:00:00Z as whole numbers; every other unit is in the
name.

"""

MEANINGS = {
    "party": "Whose journal this is: the first PartyId of the gateway.",
    "event": "What happened; see above.",
    "at": "When, by the wall clock of the gateway that wrote it.",
    "monotonic_ns": "The monotonic clock of the process at the same moment, for durations.",
    "direction": "`out` if the journal's owner sends the message, `in` if it receives the message.",
    "from_party": "First PartyId of the sender.",
    "to_party": "First PartyId of the receiver.",
    "message_id": "The message that the row is about.",
    "ref_to_message_id": "The message that it answers.",
    "conversation_id": "ConversationId.",
    "agreement_id": "TPAId.",
    "profile": "The wire form and its rules.",
    "semantics": "The agreed delivery semantics.",
    "service": "Service of the message.",
    "action": "Action of the message.",
    "sequence_number": "SequenceNumber in the pair.",
    "attempt": "Number of the transmission, from 1; a resume begins again at 1.",
    "transport": "How it travelled.",
    "endpoint": "Where it was posted, or the address that it came from.",
    "outcome": "What the transport knew: `accepted`, `refused` or `unknown`.",
    "status_code": "HTTP status, where there was one.",
    "error_code": "[Code on the wire](errors.md).",
    "severity": "`Error` if certainly nothing was delivered, `Warning` if it may have been.",
    "size_bytes": "Sum of the payloads.",
    "hop": "Number of the hop, where there are intermediaries.",
    "reason": "Why, in words.",
    "schema_version": "Version of these columns.",
    "seq": "Number of the row in this store, from 1, without gaps.",
    "store_epoch": "How often the store had been opened.",
    "chain_hash": "SHA-256 over the hash of the row before and the other columns of its version.",
}
"""What each column holds, where the code does not say it; a missing one fails the build."""


def page() -> str:
    """The whole page."""
    docs = attribute_docs(Event)
    events = table(
        ("Event", "Who writes it, and when"),
        ((f"`{event.value}`", docs.get(event.name) or _pair_event(event)) for event in Event),
    )
    own = attribute_docs(Record)
    rows = (
        (
            f"`{field.name}`",
            str(field.type),
            "maybe" if field.nullable else "never",
            own.get(field.name) or MEANINGS[field.name],
        )
        for field in SEGMENT_SCHEMA
    )
    return INTRODUCTION + events + COLUMNS + table(("Column", "Type", "Null", "Meaning"), rows)


_PAIR_EVENTS = {
    Event.PAIR_SUSPENDED: "Either side of a pair: nothing of it is sent until it is resumed.",
    Event.PAIR_RESUMED: "The pair goes on; `reason` says who wanted it.",
    Event.PAIR_QUARANTINED: "The two sides disagree about the SequenceNumber; an operator decides.",
}


def _pair_event(event: Event) -> str:
    return _PAIR_EVENTS[event]
