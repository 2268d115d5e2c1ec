"""What people call the partners: shown beside a PartyId, and taken for one where it is only one's.

A name is the `name` of an agreement. It is never sent, stored or compared with what a partner says.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from onceonly.gateway.caller import Caller
from onceonly.message.errors import LocalError
from onceonly.message.word import Word, changed
from onceonly.steps.agreements import Agreements

W = TypeVar("W", bound=Word)

BY_PARTNER: Final = ("to", "sender", "partner")
"""Fields of paths and queries that name a partner."""

_ENOUGH: Final = 5
"""Most PartyIds that a refusal lists."""


class PartnerNames:
    """The names of the agreements that hold now; `agreements` gives them, also after a reload."""

    def __init__(self, agreements: Callable[[], Agreements]) -> None:
        self._agreements = agreements

    def name_of(self, party: str) -> str | None:
        """What people call the partner with this PartyId; None if its agreements do not say."""
        return self._agreements().name_of(party)

    def read(self, asked: W, caller: Caller) -> W:
        """The same path or query, with a PartyId where it has the name of one partner.

        A PartyId of an agreement is never taken for a name. Names are those of agreements that the
        caller sees. Raises `LocalError` (InvalidField) for a name that several partners have.
        """
        for field in BY_PARTNER:
            given: Any = getattr(asked, field, None)
            if isinstance(given, str) and (party := self._party_of(field, given, caller)) != given:
                asked = changed(asked, **{field: party})
        return asked

    def _party_of(self, field: str, given: str, caller: Caller) -> str:
        agreements = self._agreements()
        if agreements.find_with(given) is not None:
            return given
        found = agreements.parties_named(given, caller.agreement_ids)
        if len(found) > 1:
            few = ", ".join(found[:_ENOUGH])
            raise LocalError(
                "InvalidField",
                f"{len(found)} partners are called {given!r}; expected is the PartyId of one: "
                f"{few}{' …' if len(found) > _ENOUGH else ''}",
                {"field": field},
            )
        return found[0] if found else given
