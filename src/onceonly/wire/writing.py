"""What the writers of both profiles have in common."""

from functools import lru_cache

from onceonly.message.errors import ErrorCode, LocalError
from onceonly.message.identity import PartyId
from onceonly.message.message import DeliverySemantics
from onceonly.message.signals import ErrorEntry
from onceonly.wire.xml import escaped


def check_semantics(semantics: DeliverySemantics) -> None:
    """Raise `LocalError` (SemanticsNotOnWire) unless the wire has a word for `semantics`.

    The caller chooses the word for what was agreed (`on_wire`); none is chosen here.
    """
    if (
        semantics is not DeliverySemantics.ONCE_AND_ONLY_ONCE
        and semantics is not DeliverySemantics.BEST_EFFORT
    ):
        raise LocalError("SemanticsNotOnWire", f"the wire has no word for {semantics.value}")


@lru_cache(1024)
def party(ids: tuple[PartyId, ...]) -> str:
    """The PartyIds of a From or To, in their order. Kept, since agreements have them for ever."""
    return "".join(map(_party_id, ids))


def _party_id(party_id: PartyId) -> str:
    value, type_ = escaped((party_id.value, party_id.type or ""))
    if party_id.type is None:
        return f"<PartyId>{value}</PartyId>"
    return f'<PartyId type="{type_}">{value}</PartyId>'


def element(name: str, text: str) -> str:
    """A leaf with this escaped text, or empty."""
    return f"<{name}>{text}</{name}>" if text else f"<{name}/>"


def error_lines(entry: ErrorEntry, code_name: str, severity_name: str) -> str:
    """One Error of an ErrorList; its attributes are spelled differently in the two profiles."""
    unknown = entry.code is ErrorCode.UNKNOWN and entry.code_text
    code, description = escaped(
        (entry.code_text if unknown else entry.code.value, entry.description)
    )
    lines = [f'    <Error {code_name}="{code}" {severity_name}="{entry.severity.value}">\r\n']
    if description:
        lines.append(f'      <Description xml:lang="en">{description}</Description>\r\n')
    if entry.min_retry_s is not None:
        lines.append(f"      <MinRetrySecs>{entry.min_retry_s}</MinRetrySecs>\r\n")
    return f"{''.join(lines)}    </Error>\r\n"
