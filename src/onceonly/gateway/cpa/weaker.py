"""Where new agreements protect less than those in force (attack S40).

A partner's CPA is a proposal about our security, too. Whoever takes it over sees what it lowers.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from onceonly.gateway.config.file import ConfigurationFile, Table
from onceonly.gateway.config.keys import REPEATED
from onceonly.message.word import Word

_NONE_ASKED: Final = ("BestEffort", "AtMostOnce")


class Weaker(Word, kw_only=True):
    """One term of an agreement that a new table would lower."""

    agreement: str
    """The id of the agreement in force."""
    key: str
    was: str
    now: str


def read_tables(path: Path) -> tuple[Table, ...]:
    """The agreements of a file that has nothing else. Raises `ConfigurationError`."""
    return ConfigurationFile(path, REPEATED).tables("agreement")


def weaker_than(before: Iterable[Table], after: Iterable[Table]) -> Iterator[Weaker]:
    """Every term of `after` that is lower than in the agreement which it takes the place of."""
    in_force = tuple(before)
    for new in after:
        for old in _replaced(in_force, new):
            for key, grade in _GRADES.items():
                was, now = grade(old), grade(new)
                if now < was:
                    yield Weaker(agreement=old["id"], key=key, was=was.text, now=now.text)


def _replaced(in_force: Sequence[Table], new: Table) -> Iterator[Table]:
    """Those with the same partner, CPAId and Roles, and of the same actions if both say."""
    for old in in_force:
        is_same = _name(old) == _name(new) and set(old["with"]) & set(new["with"])
        if is_same and _roles(old) == _roles(new) and _share_an_action(old, new):
            yield old


def _name(table: Table) -> str:
    return str(table["cpa_id"] or table["id"])


def _roles(table: Table) -> tuple[str | None, str | None]:
    return table["role"], table["partner_role"]


def _share_an_action(one: Table, other: Table) -> bool:
    ours, theirs = _actions(one), _actions(other)
    return not ours or not theirs or bool(ours & theirs)


def _actions(table: Table) -> set[tuple[str, str, str]]:
    return {
        (service.id, way, action)
        for service in table["services"] or ()
        for way in ("send", "receive")
        for action in getattr(service, way)
    }


class _Grade(Word):
    """How much a term protects; `text` is the value as people read it."""

    rank: int
    text: str

    def __lt__(self, other: "_Grade") -> bool:
        return self.rank < other.rank


def _worded(key: str, words: Sequence[str], default: Callable[[Table], Any]) -> Callable[..., Any]:
    """The rank of a word; a value that is not there counts as the default has it."""

    def grade(table: Table) -> _Grade:
        given = table[key] if table.has(key) else None
        word = str(default(table) if given is None else given)
        return _Grade(words.index(word) if word in words else 0, word)

    return grade


def _ack_default(table: Table) -> str:
    return "None" if table["delivery_semantics"] in _NONE_ASKED else "Unsigned"


def _way(key: str) -> Callable[[Table], _Grade]:
    def grade(table: Table) -> _Grade:
        uri = (table[key] if table.has(key) else None) or table["send_to"]
        return _Grade(int(urlsplit(uri).scheme.endswith("s")), uri)

    return grade


def _present(key: str) -> Callable[[Table], _Grade]:
    def grade(table: Table) -> _Grade:
        given = table[key] if table.has(key) else None
        return _Grade(int(bool(given)), ", ".join(map(str, given or ())) or "none")

    return grade


def _off(key: str) -> Callable[[Table], _Grade]:
    def grade(table: Table) -> _Grade:
        is_on = bool(table[key]) if table.has(key) else False
        return _Grade(int(not is_on), "true" if is_on else "false")

    return grade


_SIGNED: Final = ("none", "messages", "all")
_GRADES: Final[dict[str, Callable[[Table], _Grade]]] = {
    "send_to": _way("send_to"),
    "error_to": _way("error_to"),
    "signals_to": _way("signals_to"),
    "delivery_semantics": _worded(
        "delivery_semantics",
        ("BestEffort", "AtMostOnce", "AtLeastOnce", "OnceAndOnlyOnce", "ExactlyOnce"),
        lambda _: "OnceAndOnlyOnce",
    ),
    "ack_requested": _worded("ack_requested", ("None", "Unsigned", "Signed"), _ack_default),
    "duplicate_elimination": _worded(
        "duplicate_elimination",
        ("never", "perMessage", "always"),
        lambda table: "never" if table["delivery_semantics"] == "BestEffort" else "always",
    ),
    "check_header": _worded("check_header", ("lenient", "strict"), lambda _: "strict"),
    "sign": _worded("sign", _SIGNED, lambda _: "none"),
    "require_signature": _worded(
        "require_signature", _SIGNED, lambda table: table["sign"] if table.has("sign") else "none"
    ),
    "accept_sha1": _off("accept_sha1"),
    "xml_part_transforms": _off("xml_part_transforms"),
    "signature_algorithm": _worded(
        "signature_algorithm", ("rsa-sha1", "by key"), lambda _: "by key"
    ),
    "partner_certificates": _present("partner_certificates"),
    "caller_certificate": _present("caller_certificate"),
    "lenient_signal_parties": _off("lenient_signal_parties"),
}
"""What protects, by key: the lower the grade, the less."""
