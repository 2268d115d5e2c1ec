"""Report 28 on the page: profiles by name, evidence of receipt, and who signed it."""

from typing import Final

from onceonly.lake.page.card import Card
from onceonly.lake.page.findings import Extract, Findings
from onceonly.lake.page.listing import PAIR, listing
from onceonly.lake.page.markup import Html
from onceonly.lake.reports import profiles

DEFINITION: Final = profiles.DEFINITION
_COUNTED: Final = (
    *("profile", "evidence_asked", "evidence_kept", "evidence_missing", "unacknowledged"),
    *("messages", "differing", "signed", PAIR, "agreement_id"),
)
_SIGNERS: Final = ("receipt_signers", "message_signers")


def card(found: Findings) -> Card:
    """How much can be proven to anybody, and by whose signatures."""
    extract = found.of(DEFINITION)
    title = "Profiles and evidence"
    body: tuple[Html, ...] = ()
    if extract.rows:
        body = (listing(DEFINITION, extract, _COUNTED, caption=title),)
    signed = [row for row in extract.rows if any(row[name] for name in _SIGNERS)]
    if signed:
        names = (PAIR, *_SIGNERS)
        body = (*body, listing(DEFINITION, Extract(signed, len(signed)), names, caption="Signers"))
    return Card(
        "profiles",
        title,
        "In which profile messages went, and of how many that asked for a signed acknowledgement "
        "their sender keeps one: then it can prove to anybody that the receiver has just that "
        "message. Compare the signers with the fingerprints of your partner's certificates "
        "(onceonly certificate list).",
        body,
        "no message was submitted or stored.",
        (DEFINITION,),
        is_wide=True,
        is_long=True,
    )
