"""What is typed to act: a command of `onceonly` for each thing that the page asks of people.

Knows the words of the command line, which a test types into its parser; it must not run anything.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

_TYPED_AS_IT_IS: Final = re.compile(r"[A-Za-z0-9@][A-Za-z0-9._@:+=-]*")
"""A name that no shell takes for anything else, and that is copied off the page as it is."""
PLACES: Final = ("MESSAGE_ID", "PARTY", "JOB", "THEIR_LAKE", "LAKE")
"""What stands for something that the page cannot know, or that is not typed as it is."""


class Command(StrEnum):
    """One line for a shell; words in capitals are to be replaced."""

    TRACE = "onceonly message trace MESSAGE_ID"
    HEADER = "onceonly message header MESSAGE_ID"
    PAYLOAD = "onceonly message payload MESSAGE_ID --to payload.0"
    ASK = "onceonly message status MESSAGE_ID --remote"
    RESEND = "onceonly message resend MESSAGE_ID"
    RESEND_ANYWAY = 'onceonly message resend MESSAGE_ID --anyway --reason "WHY"'
    RESUME = 'onceonly message resume MESSAGE_ID --reason "WHY"'
    EVIDENCE = "onceonly message evidence MESSAGE_ID"
    DOUBTS = "onceonly doubt list"
    COLLISIONS = "onceonly exceptions --event CollisionDetected"
    LATE_ACKS = "onceonly exceptions --event LateAckReceived"
    NOTICES = "onceonly notice list --id-prefix MESSAGE_ID"
    NOTICES_OF_FAILURE = "onceonly notice list --kind DeliveryFailure --newest"
    PARTNERS = "onceonly partner list --long"
    PING = "onceonly partner ping PARTY"
    INCIDENTS = "onceonly partner incidents"
    RESUME_PAIR = "onceonly partner resume PARTY"
    CLOCK = "onceonly probe clock"
    STARTS = "onceonly journal list --event Started --newest"
    PUBLISH = "onceonly lake publish"
    INGEST = "onceonly lake ingest LAKE"
    INGEST_THEIRS = "onceonly lake ingest THEIR_LAKE --into LAKE"
    ADVISE = "onceonly lake advise LAKE"
    JOB_REJECTS = "onceonly job show JOB --rejects"
    JOB = "onceonly job show JOB"

    def of(self, **names: Sequence[str | None]) -> str:
        """The line with the first name of each kind in its place, if it can be typed as it is."""
        line = self.value
        for kind, some in names.items():
            place = kind.upper()
            assert place in PLACES
            first = next((one for one in some if one and _TYPED_AS_IT_IS.fullmatch(one)), place)
            line = line.replace(place, first)
        return line
