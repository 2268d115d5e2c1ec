"""The short way to read a header document that differs only in values from an earlier one.

The documents of one product differ in identifiers, times, numbers and names, and in hardly anything
else. Those texts are the *slots* of the document, and the text without them is its *layout*. The
first documents of a layout are read the long way, by `xml` and the profile's `reading`. Then two
made-up documents are read the long way, too: they have the same layout, and a unique text in each
slot. The place where such a text appears in the result shows which value the slot has. With this
knowledge a template reads later documents: it looks up the layout and checks the slots.

The short way gives the same result as the long way, or None. If it is None, the long way reads the
document, and names what is wrong:

* Everything except the slots is the same text, character by character, as in a document that was
  accepted. A slot is printable ASCII without markup, so it cannot change the tree around it.
* Each slot is one value, known by name, and the same code checks it as on the long way.
* Words that say what the document is are no slots (`Codec.leaf`). If the text of a slot does not
  appear in the result, or appears changed, there is no template.
* Two slots that must say the same (`Codec.said_twice`) have one text in the made-up documents, and
  a later document in which they differ is left to the long way.

A property test compares both ways for each profile.

The memory is limited. A layout is learned when its second document was admitted, and is dropped
only if there are `TEMPLATES_MAX` others; a layout that was used since it was last looked at is kept
for one more round. So a peer that sends strange layouts to displace those of others has to send two
packages for each, and the others only lose the short way for one document.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from itertools import repeat
from operator import itemgetter
from typing import Any, Final

from onceonly.message.errors import RemoteError
from onceonly.message.identity import PartyId, checked_party, checked_text
from onceonly.message.message import Message
from onceonly.message.signals import Acknowledgment
from onceonly.message.word import Word, changed
from onceonly.wire import names
from onceonly.wire.codec import Codec
from onceonly.wire.document import Document
from onceonly.wire.fields import (
    checked_document_id,
    checked_sequence_number,
    checked_uri,
    identified,
)
from onceonly.wire.limits import Limits
from onceonly.wire.timestamp import read_timestamp
from onceonly.wire.xml import WHITE_SPACE

TEMPLATES_MAX: Final = 128
"""Most layouts that are kept: a product has about two for each profile, for messages and for
acknowledgements, and a few more with optional elements. With `LENGTH_MAX`, 2 MiB at most."""

SIGHTINGS_MAX: Final = 256
"""Most layouts that are remembered as seen once; eight bytes for each."""

LENGTH_MAX: Final = 8192
"""Longest document that has a template. Ordinary ones have 1-3 KB."""

SLOTS_MAX: Final = 64
"""Most slots of a template: an ordinary document has 15, and 2 more for each payload."""

LASTING_MAX: Final = 2048
"""Agreements of which the values are kept checked that they have in every message. Each has some
nine of them, of 255 characters at most."""

_PASSING: Final = frozenset(
    {
        "message_id",
        "conversation_id",
        "ref_to_message_id",
        "timestamp_at",
        "time_to_live_at",
        "sequence_number",
        "number",
        "description",
    }
)
"""Fields that differ from message to message; all others of an agreement last."""

_TEXT = "[ -%'-;=?-~]"
_QUOTED = "[ !#-%'-;=?-~]"
# References to payloads and their titles are attributes: in rm-2001 before the first leaf, in
# ebms-2.0 after the last one.
_REFERENCE = re.compile(f'(="cid:|:title=")({_QUOTED}++)(?=")')
_REFERENCE_MARK = '="cid:'

_Key = tuple[object, ...]
_Part = tuple[str, Callable[[str], object] | None, Any]
"""A field, what reads it, and the place of its text; or None, and the parts of the word in it."""


def leaf_pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Finds the texts of leaves that can be slots: all but those that begin with one of `words`."""
    fixed = "|".join(map(re.escape, sorted(words)))
    return re.compile(f">(?!{fixed})({_TEXT}++)</")


class Templates:
    """The templates of one process. They change how fast a document is read, and nothing else."""

    def __init__(self) -> None:
        self._known: dict[_Key, _Template] = {}
        self._seen: dict[int, bool] = {}
        """The layouts that were seen, and whether they can have no template."""

    def find(
        self, document: bytes, charset: str | None, codec: Codec, limits: Limits
    ) -> Document | None:
        """The result that the long way would give, or None if the long way has to read it."""
        cut = _cut(document, charset, codec, limits)
        if cut is None:
            return None
        template = self._known.get(cut[0])
        # The long way counts declarations by their name, which may also occur in a slot.
        if template is None or document.count(b"xmlns") > limits.namespaces_max:
            return None
        template.is_used = True
        return template.find(cut[1])

    def learn(
        self,
        document: bytes,
        charset: str | None,
        codec: Codec,
        limits: Limits,
        *,
        read: Callable[[bytes], Document],
    ) -> None:
        """Remember the layout of a document that `read` read the long way and that was admitted."""
        cut = _cut(document, charset, codec, limits)
        if cut is None or cut[0] in self._known:
            return
        key, values = cut
        sighting = hash(key)
        has_none = self._seen.get(sighting)
        if has_none is None:
            if len(self._seen) >= SIGHTINGS_MAX:
                del self._seen[next(iter(self._seen))]
            self._seen[sighting] = False
        if has_none is not False:
            return
        template = _template_of(document, values, codec, read)
        if template is None:
            self._seen[sighting] = True  # To find it out took two more readings.
            return
        del self._seen[sighting]
        self._forget_one()
        self._known[key] = template

    def _forget_one(self) -> None:
        """If there are `TEMPLATES_MAX`, drop the oldest that was not used since its last look."""
        while len(self._known) >= TEMPLATES_MAX:
            oldest = next(iter(self._known))
            template = self._known.pop(oldest)
            if template.is_used:
                template.is_used = False
                self._known[oldest] = template


class _NoTemplateError(Exception):
    """A slot does not appear as one value in the result."""


class _Template:
    """Reads the documents of one layout."""

    def __init__(
        self, document: Document, marks: tuple[str, ...], twins: tuple[int, ...], codec: Codec
    ) -> None:
        """`document` is what one says that has `marks` in its slots (`_twins_of`)."""
        if document.signature is not None:
            raise _NoTemplateError  # It is verified over the bytes of the document.
        slots = _slots_of(marks)
        used: list[int] = []
        self.is_used = False
        self._words = document.content, *document.routing
        parts = [_parts_of(word, slots, used, codec) for word in self._words]
        places: list[int] = []
        self._lasting = [_lasting_of(one, places) for one in parts]
        self._passing = [_passing_of(one) for one in parts]
        # With an empty tuple after them, since the getter of a single one would give no tuple.
        self._pick_lasting = itemgetter(*places, slice(0))
        self._references = [
            _reference_of(reference, label, marks, slots, used)
            for reference, label in document.labels.items()
        ]
        self._profile = document.profile
        self._said = tuple(document.references.values())
        self._warnings = document.warnings
        self._twins = [(at, first) for at, first in enumerate(twins) if at != first]
        if {twins[at] for at in used} != set(twins):
            raise _NoTemplateError

    def find(self, values: tuple[str, ...]) -> Document | None:
        """The document with these values in its slots; None where one of them is refused."""
        labels: dict[str, str] = {}
        for later, first in self._twins:
            if values[later] != values[first]:
                return None
        try:
            for scheme, reference, label, at in self._references:
                content_id = checked_document_id(scheme + values[reference], labels)
                labels[content_id] = label if at is None else checked_text(values[at], "label")
            lasting = _with_lasting(self, self._pick_lasting(values))
            content, *hops = map(_made, lasting, self._passing, repeat(values))
        except RemoteError:
            return None
        references = dict(zip(labels, self._said, strict=True)) if self._said else {}
        return Document(content, tuple(hops), labels, self._profile, references, self._warnings)

    def with_lasting(self, texts: tuple[str, ...]) -> list[Any]:
        """The content and the hops with these in the fields that last. Raises `RemoteError`."""
        return list(map(_made, self._words, self._lasting, repeat(texts)))


@lru_cache(LASTING_MAX)
def _with_lasting(template: _Template, texts: tuple[str, ...]) -> list[Any]:
    """Kept, so that what an agreement has in every message is checked and made once."""
    return template.with_lasting(texts)


def _template_of(
    document: bytes, values: tuple[str, ...], codec: Codec, read: Callable[[bytes], Document]
) -> _Template | None:
    if len(values) > SLOTS_MAX:
        return None
    twins = _twins_of(document, values, codec)
    marks, others = _marks(values, twins, 1), _marks(values, twins, 2)
    try:
        made_up = read(_refilled(document, codec, marks))
        if not isinstance(made_up.content, Message | Acknowledgment):
            return None  # They are rare; their layouts would displace those of frequent ones.
        template = _Template(made_up, marks, twins, codec)
        # A text of the peer that only looks like a mark is not one in the second series.
        is_right = template.find(others) == read(_refilled(document, codec, others))
    except (RemoteError, _NoTemplateError):
        return None
    return template if is_right else None


# --- Layout and slots ---------------------------------------------------------------------------


def _cut(
    document: bytes, charset: str | None, codec: Codec, limits: Limits
) -> tuple[_Key, tuple[str, ...]] | None:
    """The layout with all that the long way depends on beside it, and the texts of the slots."""
    if codec.leaf is None or len(document) > min(LENGTH_MAX, limits.header_bytes_max):
        return None
    try:
        first, pieces, last = _split(document.decode(), codec.leaf)
    except UnicodeDecodeError:
        return None
    values = (*first[2::3], *pieces[1::2], *last[2::3])
    del first[2::3], last[2::3]
    layout = tuple(first), tuple(pieces[2:-1:2]), tuple(last)
    return (layout, charset, codec, limits), values


def _split(text: str, leaf: re.Pattern[str]) -> tuple[list[str], list[str], list[str]]:
    """What stands before the first leaf, all of it cut by `leaf`, and what follows the last leaf.

    The first and the last list are cut by `_REFERENCE`; the last one is empty without a leaf.
    """
    pieces = leaf.split(text)
    first = pieces[0]
    before = _REFERENCE.split(first) if _REFERENCE_MARK in first else [first]
    if len(pieces) == 1:
        return before, pieces, []
    last = pieces[-1]
    return before, pieces, _REFERENCE.split(last) if _REFERENCE_MARK in last else [last]


def _refilled(document: bytes, codec: Codec, values: tuple[str, ...]) -> bytes:
    """The document with these texts in its slots."""
    assert codec.leaf is not None, "it was cut by it"
    first, pieces, last = _split(document.decode(), codec.leaf)
    before, leaves = len(first) // 3, len(pieces) // 2
    first[2::3], last[2::3] = values[:before], values[before + leaves :]
    pieces[1::2], pieces[-1:] = values[before : before + leaves], ["".join(last)] if last else []
    text = "".join(first)
    for value, constant in zip(pieces[1::2], pieces[2::2], strict=True):
        text += f">{value}</{constant}"
    return text.encode()


def _twins_of(document: bytes, values: tuple[str, ...], codec: Codec) -> tuple[int, ...]:
    """For each slot the first one that must say the same; that is itself for nearly all."""
    assert codec.leaf is not None, "it was cut by it"
    first, pieces, _ = _split(document.decode(), codec.leaf)
    twins = list(range(len(values)))
    seen: dict[tuple[str, str], int] = {}
    for at, constant in enumerate(pieces[2::2], len(first) // 3):
        name = constant.partition(">")[0].rpartition(":")[2].strip(WHITE_SPACE)
        if name in codec.said_twice:
            # Where they differ in a document that was read, they need not be the same.
            twins[at] = seen.setdefault((name, values[at]), at)
    return tuple(twins)


def _marks(values: tuple[str, ...], twins: tuple[int, ...], series: int) -> tuple[str, ...]:
    """A text for each slot and its twins that stands in no other one, and is of the same sort."""
    return tuple(_mark(values[at], series, at) for at in twins)


def _mark(value: str, series: int, at: int) -> str:
    if value.isdigit():
        return f"{series}{at:03}"
    if _find_instant(value) is not None:
        return f"200{series}-01-01T00:{at // 60:02}:{at % 60:02}Z"
    scheme = names.CONTENT_ID_SCHEME if value.startswith(names.CONTENT_ID_SCHEME) else ""
    return f"{scheme}urn:{series}:{at}"


def _slots_of(marks: tuple[str, ...]) -> dict[object, int]:
    """The slot of each mark, and of what the mark may be read as."""
    slots: dict[object, int] = {}
    for at, mark in enumerate(marks):
        slots[mark] = slots[mark.removeprefix(names.CONTENT_ID_SCHEME)] = at
        instant = _find_instant(mark)
        if instant is not None:
            slots[instant] = at
        elif mark.isdigit():
            slots[int(mark)] = at
    return slots


def _find_instant(text: str) -> int | None:
    try:
        return read_timestamp(text)
    except RemoteError:
        return None


# --- Values -------------------------------------------------------------------------------------


def _party(type_: str | None, value: str) -> tuple[PartyId]:
    return (checked_party(PartyId(value, type_)),)


def _uri(value: str) -> str:
    return checked_uri(value, "URI")


_READ_AS: Final[Mapping[str, Callable[[str], object]]] = {
    # They are checked when a message or a signal is made of them.
    "message_id": str,
    "agreement_id": partial(identified, name="the agreement's name"),
    "conversation_id": partial(identified, name="ConversationId"),
    "service": str,
    "action": str,
    "ref_to_message_id": str,
    "timestamp_at": read_timestamp,
    "time_to_live_at": read_timestamp,
    "sender_uri": _uri,
    "receiver_uri": _uri,
    "error_uri": _uri,
    "sequence_number": checked_sequence_number,
}
"""The function that reads a slot, for each field that a slot can fill in every form, except the
parties; `Codec.read_as` has the others."""


def _parts_of(
    word: Word, slots: Mapping[object, int], used: list[int], codec: Codec
) -> list[_Part]:
    """The fields of `word` that slots fill; those slots are added to `used`."""
    read_as = {**_READ_AS, **codec.read_as(word)}
    parts: list[_Part] = []
    for name in word.__struct_fields__:
        value = getattr(word, name)
        if isinstance(value, Word):
            parts.append((name, None, _parts_of(value, slots, used, codec)))
            continue
        read = read_as.get(name)
        if isinstance(value, tuple) and len(value) == 1 and isinstance(value[0], PartyId):
            read, value = partial(_party, value[0].type), value[0].value
        if type(value) in (str, int) and read is not None and value in slots:
            used.append(slots[value])
            parts.append((name, read, slots[value]))
    return parts


def _passing_of(parts: list[_Part]) -> list[_Part]:
    """Those that differ from message to message, by their slots."""
    chosen: list[_Part] = []
    for name, read, at in parts:
        if read is None and (inner := _passing_of(at)):
            chosen.append((name, None, inner))
        elif name in _PASSING:
            chosen.append((name, read, at))
    return chosen


def _lasting_of(parts: list[_Part], slots: list[int]) -> list[_Part]:
    """Those that last, by their places among `slots`, to which their slots are added."""
    chosen: list[_Part] = []
    for name, read, at in parts:
        if read is None:
            chosen.append((name, None, _lasting_of(at, slots)))
        elif name not in _PASSING:
            chosen.append((name, read, len(slots)))
            slots.append(at)
    return chosen


def _reference_of(
    reference: str, label: str, marks: tuple[str, ...], slots: Mapping[object, int], used: list[int]
) -> tuple[str, int, str, int | None]:
    """The text before the slot of a reference, that slot, and the label or its slot."""
    at, of_label = slots.get(reference), slots.get(label)
    if at is None:
        raise _NoTemplateError
    used.append(at)
    if of_label is not None:
        used.append(of_label)
    # In an attribute the slot is the text after the scheme.
    return names.CONTENT_ID_SCHEME if reference == marks[at] else "", at, label, of_label


def _made(word: Any, parts: list[_Part], texts: tuple[str, ...]) -> Any:
    """`word` with what these texts say in its fields. Raises `RemoteError` like its reading."""
    fields = {}
    for name, read, at in parts:
        if read is None:
            fields[name] = _made(getattr(word, name), at, texts)
        else:
            fields[name] = read(texts[at])
    return changed(word, **fields)
