"""Every mutant, in one list."""

from answering_mutants import MUTANTS as ANSWERING
from ebms2_mutants import MUTANTS as EBMS_2_0
from forgetting_mutants import MUTANTS as FORGETTING
from hostile_mutants import MUTANTS as HOSTILE
from receiving_mutants import MUTANTS as RECEIVING
from recovery_mutants import MUTANTS as RECOVERY
from relaying_mutants import MUTANTS as RELAYING
from sending_mutants import MUTANTS as SENDING
from store_mutants import MUTANTS as STORE
from turn_mutants import MUTANTS as TURNS
from ways_mutants import MUTANTS as WAYS
from wire_mutants import MUTANTS as WIRE

MUTANTS = (
    *SENDING,
    *TURNS,
    *RECEIVING,
    *FORGETTING,
    *STORE,
    *RELAYING,
    *RECOVERY,
    *ANSWERING,
    *WAYS,
    *WIRE,
    *HOSTILE,
    *EBMS_2_0,
)

OF_THE_DESIGN = {
    "ack_before_fsync": "ack_before_the_commit",
    "submit_no_fsync": "submit_answers_before_the_commit",
    "dedupe_volatile": "duplicates_volatile",
    "purge_early": "forgets_a_second_early",
    "seq_only_dedupe": "dedupe_by_number",
    "deliver_first": "hand_over_before_the_ack",
    "redeliver_after_crash": "redelivered_after_a_crash",
    "dup_not_acked": "repeat_not_acknowledged",
    "retry_off_by_one": "retry_one_too_many",
    "resume_counter_kept": "resume_keeps_counter",
    "resume_skips": "resume_skips",
    "send_while_suspended": "suspended_pair_sends",
    "suspend_volatile": "suspension_volatile",
    "notify_lost_on_crash": "notices_volatile",
    "forget_on_exhaust": "forgotten_when_exhausted",
    "silent_exhaust": "silent_exhaust",
    "wrap_to_zero": "wrap_to_zero",
    "new MessageId on resubmission": "resubmission_gets_a_new_id",
    "abandon_at_once": "failed_without_a_fence",
    "no_skew_margin": "no_skew_margin",
    "cancel_reuses_seq": "abandoned_number_reused",
    "cancel_keeps_seq": "abandoned_number_leaves_a_gap",
    "relay_early_ack": "relay_acknowledges_early",
    "swallow_eio": "failed_commit_is_success",
}
"""The bugs that the simulator was designed to find, and what they are called here."""
