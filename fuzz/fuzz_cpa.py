"""Fuzzes the import of a CPA: tables that a reader of TOML gets back, or a refusal with its reason.

Both parties of a document take their turn, and everything is allowed that an operator can allow, so
that little is refused early.
"""

from onceonly.gateway.cpa import Imported, Wishes, import_cpa
from onceonly.gateway.cpa.reading import read_cpa
from onceonly.gateway.cpa.terms import Allowed

NOW_AT = 1_793_491_200_000_000
EVERYTHING = Allowed(is_open=True, is_plain=True)


def read(data: bytes) -> list[Imported]:
    """What `onceonly agreement import` would write for either side."""
    found = []
    for party in read_cpa(data).parties:
        name, kind = party.ids[0]
        wishes = Wishes(
            party=name if kind is None else f"{kind}:{name}",
            allowed=EVERYTHING,
            takes_proposed=True,
            takes_expired=True,
        )
        found.append(import_cpa(data, wishes, NOW_AT))
    return found
