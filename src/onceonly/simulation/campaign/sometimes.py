"""States that a campaign must reach at least once: what it never reaches, it does not test.

Knows only what an observer sees, as the checkers do. If a whole campaign never reached a state, the
generator of worlds does not produce it any more; it does not mean that the gateway is wrong.
"""

from collections.abc import Callable

from onceonly.message.word import Word
from onceonly.simulation.campaign import debts_seen as owed
from onceonly.simulation.campaign import sightings as see
from onceonly.simulation.campaign.sightings import Sightings
from onceonly.simulation.world import World


class State(Word):
    """A state of a world: what it is, and how it is seen."""

    sentence: str
    is_seen: Callable[[Sightings], bool]


_STATES: dict[str, State] = {
    # Acknowledgements.
    "late-ack": State(
        "An acknowledgement came after the application had been told of a failure.",
        see.any_row("LateAckReceived"),
    ),
    "late-ack-resumes": State(
        "A late acknowledgement ended the suspension of its pair.", see.late_ack_resumes
    ),
    "repeated-ack": State(
        "An acknowledged message was acknowledged again.", see.any_row("RepeatedAckReceived")
    ),
    "orphan-ack": State(
        "An acknowledgement fitted no message and peer.", see.any_row("OrphanAckReceived")
    ),
    "ack-by-mail-hours-later": State(
        "An acknowledgement came by mail more than an hour after its message left.",
        see.ack_hours_later,
    ),
    "acks-out-of-order": State(
        "With a window above one, a later message was acknowledged first.", see.acks_out_of_order
    ),
    "acknowledged-then-failed": State(
        "Who had acknowledged a message reported later that it was not delivered.",
        see.in_order("AckReceived", "Notified"),
    ),
    # Repeats and their memory.
    "duplicate": State("A repeat was recognised.", see.any_row("DuplicateEliminated")),
    "duplicate-after-hand-over": State(
        "A repeat came after the application had the message.",
        see.in_order("HandedOver", "DuplicateEliminated"),
    ),
    "duplicate-after-verdict": State(
        "A repeat came after its sender had the acknowledgement.", see.duplicate_after_verdict
    ),
    "duplicate-over-a-wrap": State(
        "A repeat from before the wrap of the numbers came after it.", see.duplicate_over_a_wrap
    ),
    "best-effort-twice": State(
        "A BestEffort message was delivered twice, as it may be.", see.delivered_twice
    ),
    "handed-over-again": State(
        "A message was read once more, since an operator had asked for it.",
        see.in_order("HandedOverAgain", "HandedOver"),
    ),
    "handed-over-twice-again": State(
        "A message was handed over again more than once.", see.handed_over_twice_again
    ),
    "crash-by-a-hand-over-again": State(
        "A process died within a second after somebody had asked it for one more hand-over.",
        see.crash_by_a_hand_over_again,
    ),
    "collision": State(
        "A known MessageId came with other content.", see.any_row("CollisionDetected")
    ),
    "header-told-apart": State(
        "A header was rewritten on the way, and the two journals told it apart.",
        see.header_told_apart,
    ),
    "purge-at-the-boundary": State(
        "An id was forgotten within two seconds of the first instant at which it may be.",
        see.purge_at_the_boundary,
    ),
    "refused-after-purge": State(
        "A copy of a message whose id was forgotten came, and was refused for its age.",
        see.refused_after_purge,
    ),
    "repeat-past-its-time": State(
        "A known message came again past its TimeToLive, and was acknowledged.",
        see.repeat_past_its_time,
    ),
    "at-most-once-repeated": State(
        "A repeat of an AtMostOnce message was recognised.", see.at_most_once_repeated
    ),
    "refused-after-the-verdict": State(
        "An error came about a message that was acknowledged.",
        see.in_order("AckReceived", "ErrorReceived"),
    ),
    # Sequence numbers.
    "wrapped": State("A SequenceNumber went from 999,999,999 to 1.", see.wrapped),
    "number-reset": State(
        "An abandoned number restarted the sequence, and a message was stored under 1.",
        see.number_reset,
    ),
    "idle-pair-forgotten": State(
        "The counter of an idle pair was dropped.", see.with_reason("SequenceReset", "idle")
    ),
    "wrong-number": State(
        "A message was refused for its SequenceNumber.",
        see.with_code("Rejected", "InvalidSequenceNumber"),
    ),
    "refused-number-stored": State(
        "A message that was refused for its SequenceNumber was stored after all.",
        see.refused_number_stored,
    ),
    "receiver-quarantine": State(
        "A receiver quarantined a pair.", see.quarantined(is_sender=False)
    ),
    "sender-quarantine": State("A sender quarantined a pair.", see.quarantined(is_sender=True)),
    # Giving up, and what comes after.
    "exhausted": State("The retries of a message were used up.", see.any_row("Exhausted")),
    "suspended-and-resumed": State(
        "A pair was suspended and resumed.", see.pair_in_order("PairSuspended", "PairResumed")
    ),
    "failed-behind-the-fence": State(
        "A doubt became a failure once no receiver could take a copy any more.",
        see.with_reason("Failed", "twice the clock accuracy"),
    ),
    "failed-yet-delivered": State(
        "A message failed that its receiver had delivered: the window of the two armies.",
        see.failed_yet_delivered,
    ),
    "settled-by-word": State("An operator ended a doubt by a word.", see.any_row("Settled")),
    "acknowledged-after-word": State(
        "An acknowledgement came after an operator had ended the doubt.",
        see.in_order("Settled", "LateAckReceived"),
    ),
    "expired-unsent": State("A message expired before a byte of it left.", see.any_row("Expired")),
    "too-late": State(
        "A message was refused for its TimeToLive.", see.with_code("Rejected", "TimeToLiveExpired")
    ),
    # Withholding, cancelling, recovery.
    "withheld-and-released": State(
        "A message was withheld until an acknowledgement left.",
        see.in_order("Withheld", "HandedOver"),
    ),
    "withheld-for-good": State(
        "A message was withheld, and nobody asked for it any more.", see.withheld_for_good
    ),
    "cancelled-unsent": State(
        "A message was taken back before a byte of it left.", see.cancelled_unsent
    ),
    "cancel-confirmed": State(
        "A receiver confirmed a cancel, and its sender heard of it.", see.cancel_confirmed
    ),
    "cancel-refused": State(
        "A receiver refused a cancel.", see.with_reason("ReportReceived", "cancel refused")
    ),
    "tombstone-first": State(
        "A cancel was confirmed for a message that came afterwards, and was refused.",
        see.tombstone_first,
    ),
    "cancelled-in-the-inbox": State(
        "A message was cancelled that its application had read and not begun.",
        see.cancelled_in_the_inbox,
    ),
    "requeued": State("Recovery sent a message again that was given up.", see.any_row("Requeued")),
    "new-version": State(
        "The content of a cancelled message went out under a new MessageId.", see.new_version
    ),
    "resent": State(
        "A message certainly ended, and its content went out as a new one.", see.any_row("Resent")
    ),
    "pong": State("A partner said that it takes messages.", see.any_row("PongReceived")),
    "pong-unavailable": State(
        "A partner that drains said that it takes none.",
        see.with_reason("PongReceived", "takes no messages", "unavailable"),
    ),
    "report": State("A partner said how a message stands.", see.any_row("ReportReceived")),
    "response-overdue": State("A business response was late.", see.any_row("ResponseOverdue")),
    "response-received": State(
        "A business response came after it had been expected.", see.any_row("ResponseReceived")
    ),
    # Answers of the transport, receipts, notices.
    "sync-reply": State("A package went back in the answer of the transport.", see.sync_reply),
    "sync-reply-lost": State("Such an answer was lost.", see.sync_reply_lost),
    "ack-on-the-response": State(
        "A business response carried an acknowledgement.",
        see.with_reason("AckSent", "on the business response"),
    ),
    "receipt": State("A delivery receipt arrived.", see.any_row("ReceiptReceived")),
    "not-supported": State(
        "A message asked for a receipt that its receiver does not give.",
        see.with_code("Rejected", "NotSupported"),
    ),
    "application-refused": State(
        "An application refused a message.", see.any_row("ApplicationRefused")
    ),
    "failure-notice": State(
        "The From Party was told by somebody else that its message failed.",
        see.any_row("FailureNoticeSent"),
    ),
    # Debts and questions that outlive a process, or what they are about.
    "notice-owed-over-a-crash": State(
        "A machine died while it owed a notice about a refused message, and posted it then.",
        owed.over_a_crash("ApplicationRefused", "FailureNoticeSent"),
    ),
    "custody-notice-over-a-crash": State(
        "An intermediary gave a message up, died, and then told its From Party.",
        owed.over_a_crash("Exhausted", "FailureNoticeSent"),
    ),
    "notice-again": State(
        "A notice that was not taken was posted again.",
        see.in_order("FailureNoticeSent", "FailureNoticeSent"),
    ),
    "repeat-in-custody": State(
        "An intermediary knew a repeat of what it had accepted.", owed.repeat_in_custody
    ),
    "asked-over-a-crash": State(
        "A machine gave a message up, died, and asked about it then.",
        owed.over_a_crash("Exhausted", "InquirySent"),
    ),
    "asked-again": State(
        "A question that was not answered was asked again.",
        see.in_order("InquirySent", "InquirySent"),
    ),
    "not-recognized": State(
        "A partner did not know the message that it was asked about.",
        see.with_reason("ReportReceived", "NotRecognized"),
    ),
    "asked-after-purge": State(
        "A receiver was asked about a message that it had stored and forgotten.",
        owed.asked_after_purge,
    ),
    "report-for-nobody": State(
        "An answer fitted no question and its peer, and counted for nothing.",
        see.with_reason("ReportReceived", "fits no inquiry"),
    ),
    "cancel-of-begun-work": State(
        "A message was to be taken back that its application had begun to work on.",
        owed.cancel_of_begun_work,
    ),
    "tombstone-over-a-crash": State(
        "A receiver confirmed a cancel, died, and refused a late copy then.",
        owed.over_a_crash("CancelConfirmed", "Rejected"),
    ),
    # Intermediaries.
    "relayed": State("A relay passed an acknowledgement on.", see.any_row("AckRelayed")),
    "relay-crash": State(
        "A relay died between forwarding a message and passing its acknowledgement on.",
        see.crash_between("Forwarded", "AckRelayed"),
    ),
    "custodian-crash": State(
        "Who had accepted a message died before the next hop acknowledged it.",
        see.custodian_crash,
    ),
    "transient-upstream": State(
        "A relay asked for a pause because its next hop was out of reach.",
        see.with_code("ErrorSent", "TransientError"),
    ),
    "transients-used-up": State(
        "A message was given up because its next hop kept asking for pauses.",
        see.with_reason("Exhausted", "kept answering TransientError"),
    ),
    "transient-pause": State(
        "A sender paused on TransientError, and sent again.", see.transient_pause
    ),
    "two-relays": State("A message passed two intermediaries.", see.two_relays),
    # Crashes and disks.
    "crash-while-starting": State(
        "A process died while it took up what was owed.", see.crash_while_starting
    ),
    "late-hand-over": State(
        "A message was stored by one process and handed over by the next.", see.late_hand_over
    ),
    "no-reset-by-restart": State(
        "A message went out again under its old attempt number after a crash.",
        see.attempt_repeated,
    ),
    "crash-after-acknowledging": State(
        "A receiver died between its acknowledgement and the hand-over.",
        see.crash_between("AckSent", "HandedOver"),
    ),
    "power-cut": State("A machine lost its power.", see.happened("power-cut")),
    "fail-stop": State(
        "A process stopped itself because its disk was broken.",
        see.happened("stopped-itself", "StoreFailed"),
    ),
    "full-disk-at-the-start": State(
        "A process could not start because its disk was full.",
        see.happened("stopped-itself", "StoreFull"),
    ),
    "full-disk-refuses": State("A full disk refused a submission.", see.refused("StoreFull")),
    "queue-full": State("A full queue refused a submission.", see.refused("QueueFull")),
    "id-given": State(
        "A message was accepted whose MessageId the gateway made, under a key.", see.id_given
    ),
    "processing-went-back": State(
        "An application reported an earlier state than before.", see.refused("ProcessingWentBack")
    ),
    "hand-over-waits-for-room": State(
        "A disk became full between the storing of a message and its hand-over.",
        see.full_before_the_hand_over,
    ),
    "id-taken": State("An application's MessageId was taken.", see.refused("MessageIdTaken")),
    "restored": State("An old copy of a store was put back.", see.happened("restored")),
    "numbers-lost": State("A table of numbers was emptied.", see.happened("numbers-lost")),
    "jump-in-flight": State(
        "A wall clock jumped while a message of its machine was under way.",
        see.in_flight_when("jumped"),
    ),
    "new-terms-in-flight": State(
        "Terms changed while a message under them was under way.",
        see.in_flight_when("reconfigured"),
    ),
    # The network, and who is not of this world.
    "broken-transfer": State(
        "A connection broke in the midst of a package.", see.with_reason("Rejected", "broke off")
    ),
    "damaged": State(
        "A package was refused because it was no XML any more.",
        see.with_code("Rejected", "OtherXml"),
    ),
    "other-words": State(
        "A signal came in the words of another profile than agreed, and counted for nothing.",
        see.with_reason("OrphanAckReceived", "of another profile"),
    ),
    "stranger": State(
        "A package of somebody unknown was refused.",
        see.with_code("Rejected", "ValueNotRecognized"),
    ),
    "posed": State("A hostile partner said something.", see.happened("posed")),
    "knocked": State("A stranger sent something.", see.happened("knocked")),
    "slipped": State("A bug was planted in what a machine said to another.", see.happened("slip")),
    "unproven": State(
        "A package was refused that came without the certificate that its agreement demands.",
        see.with_code("SecurityEvent", "SecurityFailure"),
    ),
    "large": State("A payload came that is a file of the spool.", see.large),
    "empty": State("An empty payload was delivered.", see.empty),
}

SOMETIMES: dict[str, str] = {name: state.sentence for name, state in _STATES.items()}
"""Name of each state, and what it is in one sentence."""

RARE: dict[str, int] = {"ack-by-mail-hours-later": 100_000}
"""How many worlds are needed before a rare state must have been seen."""


def reached(world: World) -> frozenset[str]:
    """Which of these states the world was in, by its history."""
    sightings = Sightings(world.plan, world.history)
    return frozenset(name for name, state in _STATES.items() if state.is_seen(sightings))
