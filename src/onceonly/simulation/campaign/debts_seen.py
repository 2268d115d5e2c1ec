"""How states of debts are seen: what is owed over a crash, asked again, or forgotten meanwhile.

Adds to `sightings`, and uses its terms: notices that machines owe one another, custody, and
questions about messages. Must not know why a campaign wants to see them (`sometimes`).
"""

from onceonly.simulation.campaign.sightings import Seen, Sightings


def over_a_crash(first: str, then: str) -> Seen:
    """Two rows about one message in one journal, with the death of a process between them."""
    return lambda seen: any(
        row.order < other.order and seen.ended_between(row.node, row.order, other.order)
        for row in seen.of(first)
        for other in seen.of_message(row, then)
    )


def repeat_in_custody(seen: Sightings) -> bool:
    """An intermediary got a copy of a message that it had accepted, and knew it."""
    relays = {relay for line in seen.plan.lines for relay, _ in line.through}
    return any(row.node in relays for row in seen.of("DuplicateEliminated"))


def asked_after_purge(seen: Sightings) -> bool:
    """A receiver was asked about a message that it had stored and has forgotten since."""
    stored = {row.record.message_id for row in seen.of("Stored")}
    return any(
        row.record.message_id in stored
        and (row.record.reason or "").startswith("NotRecognized")
        and any(purged.order < row.order for purged in seen.of("Purged"))
        for row in seen.of("ReportReceived")
    )


def cancel_of_begun_work(seen: Sightings) -> bool:
    """A cancel came after the application had begun to work on the message."""
    return any(
        row.order < asked.order and asked.record.reason == "CancelRequest"
        for row in seen.of("ProcessingChanged")
        for asked in seen.of_message(row, "InquiryReceived")
    )
