"""A CPA as text for a configuration file: the whole of `onceonly agreement import`.

Pure: the file's bytes and the instant come in, text and notes go out. What is written is read back
and compared before anybody sees it (attack S36).
"""

import tomllib
from typing import Final

from onceonly.gateway.cpa import toml
from onceonly.gateway.cpa.document import CpaError
from onceonly.gateway.cpa.model import Cpa
from onceonly.gateway.cpa.notes import Notes
from onceonly.gateway.cpa.reading import read_cpa
from onceonly.gateway.cpa.tables import AgreementTable, Wishes, tables_of
from onceonly.message.instant import to_datetime
from onceonly.message.printable import quoted
from onceonly.message.word import Word

_VERSIONS: Final = ("2_0a", "2_0b")


class Imported(Word, kw_only=True):
    """What comes out of a CPA."""

    text: str
    """The tables, as a file of a configuration has them."""
    tables: tuple[AgreementTable, ...]
    tables_text: str
    """The tables as TOML, also where `text` has them as comments."""
    notes: tuple[str, ...]
    """What was ignored, raised or left to the operator, a line each."""
    certificates: dict[str, str]
    """The partner's certificates in PEM, by the names that the tables give their files."""


def import_cpa(document: bytes, wishes: Wishes, now_at: int) -> Imported:
    """The tables of the party that `wishes` names, at the instant `now_at` (microseconds UTC).

    Raises `CpaError` with what was seen, what is expected, and the option that allows it, if one
    does.
    """
    notes = Notes()
    cpa = read_cpa(document)
    _check_validity(cpa, wishes, now_at, notes)
    if cpa.version not in _VERSIONS:
        notes.warn(
            f"the CPA's version is {quoted(cpa.version)}, expected is {' or '.join(_VERSIONS)}"
        )
    found = tables_of(cpa, wishes, notes)
    for words in cpa.unread:
        notes.ignore(words)
    if cpa.has_signature:
        notes.warn("the CPA is signed, and its signature was not verified")
    body = "\n".join(map(_written, found.tables))
    _check_read_back(body, found.tables)
    text = body
    if cpa.status == "proposed" and not wishes.takes_proposed:
        notes.warn("the CPA is only proposed: its tables are comments; --proposed writes them")
        text = toml.commented_out(body)
    heading = (
        f"From the CPA {quoted(cpa.cpa_id)} ({cpa.status}), for {quoted(wishes.party)}.",
        "Nothing of it is in force before it is in the configuration and was checked:",
        "  onceonly agreement check -c gateway.toml",
    )
    return Imported(
        text="".join(map(toml.comment, heading)) + "\n" + text,
        tables=found.tables,
        tables_text=body,
        notes=notes.lines,
        certificates=found.certificates,
    )


def _written(table: AgreementTable) -> str:
    return "".join(map(toml.comment, table.comments)) + toml.table("agreement", table.values)


def _check_validity(cpa: Cpa, wishes: Wishes, now_at: int, notes: Notes) -> None:
    start, end = (to_datetime(at).isoformat() for at in (cpa.start_at, cpa.end_at))
    if cpa.start_at >= cpa.end_at:
        reason = f"it starts at {start} and ends at {end}, expected is an end after the start"
    elif cpa.end_at <= now_at:
        reason = f"it ended at {end}"
    else:
        if cpa.start_at > now_at:
            notes.tell(f"it begins at {start}; until then nothing can be submitted under it")
        return
    if not wishes.takes_expired:
        raise CpaError(f"{reason}. Where it is wanted nevertheless, say --expired")
    notes.warn(reason)


def _check_read_back(text: str, tables: tuple[AgreementTable, ...]) -> None:
    """What a reader of the text gets is what was meant."""
    found = tomllib.loads(text).get("agreement", [])
    assert found == [one.values for one in tables], "what is written reads as something else"
