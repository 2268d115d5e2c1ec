"""The rules of the toy, which are those of neither seed.

Messages have no numbers, and yet the header decides alone how reliable they are; there is an
ErrorURI, and no business response acknowledges anything.
"""

from onceonly.message.profile import Profile

TOY = Profile(
    name="toy",
    is_numbered=False,
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
EDITION, EDITION_ATTRIBUTE = "7.0", "edition"
