"""What somebody else named, sign by sign, so that two names that differ are seen to differ.

Blanks, signs that cannot be seen, and signs that look like others are written as escapes, which
say what they are on a screen, on paper and read aloud. What `plainly` gives is decoded in one way
only: no two names look the same, unless they are too long to be shown whole.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final, NamedTuple

TEXT_MAX: Final = 300
"""Signs of one foreign text on the page; nobody reads more, and the tables have all."""
NAME_MAX: Final = 90
"""Signs of a name in a table; a MessageId of the usual kinds is shorter."""
CODES_TOLD: Final = 8
"""Code points that one note names: of more it tells how many."""


class Sign(NamedTuple):
    """One sign of a text, or what stands for those that were left out."""

    shown: str
    codes: tuple[str, ...] = ()
    """The characters that it stands for, where they would not be seen, or be taken for others."""
    is_left_out: bool = False
    """Whether it stands where a text was cut."""


INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode's classes of what is not seen and may turn around, hide or break what is around it."""
_BLANK: Final = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and signs by their class, and blank to the eye."""
_PAIRS: Final = (
    ("\u0430\u0441\u0501\u0435\u04bb\u0456\u0458\u04cf\u043e\u0440\u051b\u0455", "acdehijlopqs"),
    ("\u051d\u0445\u0443\u0475\u043a\u0433\u043f\u043c\u0442\u0432\u043d\u044c", "wxyvkrnmtbhb"),
    ("\u0410\u0412\u0421\u0415\u041d\u0406\u0408\u041a\u041c\u041e\u0420\u051a", "ABCEHIJKMOPQ"),
    ("\u0405\u0422\u051c\u0425\u0423\u04ae\u0474\u04c0\u042c", "STWXYYVIb"),
    ("\u03b1\u03b9\u03b3\u03b7\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u03c9", "aiynkvoptuxw"),
    ("\u03b2\u03b5", "be"),
    ("\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4", "ABEZHIKMNOPT"),
    ("\u03a5\u03a7", "YX"),
    ("\u0581\u0570\u0575\u0578\u0566\u057d\u0585\u0555\u054d\u053c\u054f", "ghjnquoOULS"),
    ("\u0131\u0251\u0261\u0269\u029f\u01c0\u01c3", "iagiL|!"),
    ("\u30ce\u30fc\u4e00\u4e28\u3007\u53e3", "/--|00"),
)
"""Cyrillic, Greek, Armenian, Latin and eastern letters, and what each is taken for."""
_LETTERS: Final = {
    one: other for some, others in _PAIRS for one, other in zip(some, others, strict=True)
}
"""Letters that are taken for Latin ones; a word of nothing else is no word of its script."""
_POINTS: Final = {
    **dict.fromkeys("\u2010\u2012\u2013\u2014\u2015\u2212\u02d7\u2e3a\u2043", "-"),
    **dict.fromkeys("\u2018\u2019\u201b\u2032\u05f3\ua78c\u02bc\u02b9", "'"),
    **dict.fromkeys("\u201c\u201d\u201f\u2033\u05f4", '"'),
    **dict.fromkeys("\u2236\ua789\u05c3\u0589\u02d0", ":"),
    **dict.fromkeys("\u2044\u2215\u29f8\u2571", "/"),
    **dict.fromkeys("\u2216\u29f5", "\\"),
    **dict(zip("\u2039\u203a\u201a\u2217\u223c\u2223\u2423", "<>,*~|_", strict=True)),
}
"""Signs that are taken for those of ASCII."""
_EAST: Final = frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO"})
"""Scripts that are written together, and beside Latin; hardly a letter of them looks like one."""
_EASTERN: Final = "east"
_LATIN: Final = "LATIN"
_TAKES_NO_MARKS: Final = frozenset({_LATIN, "GREEK", "CYRILLIC", ""})
"""Of these scripts each letter with its accent is one sign, by the form that everybody uses."""
_ALIKE: Final = frozenset({"CHEROKEE", "LISU", "COPTIC", "DESERET", "OSAGE"})
"""Scripts of which most letters look like Latin ones."""
_PHONETIC: Final = ((0x0250, 0x02FF), (0x1D00, 0x1DBF), (0x2C60, 0x2C7F), (0xA720, 0xA7FF))
"""Latin letters of phoneticians: turned, hooked, or small as a letter's other form."""


def signs(value: str) -> list[Sign]:
    """The text sign by sign, cut at its end if it is very long."""
    odd = set(_odd(value))
    every = [Sign(_escape(one), (one,)) if at in odd else Sign(one) for at, one in enumerate(value)]
    if len(every) <= TEXT_MAX:
        return every
    return [*every[: TEXT_MAX - 1], _left_out(every[TEXT_MAX - 1 :])]


def cut_inside(every: list[Sign], most: int) -> list[Sign]:
    """Both ends of a text of more signs: they tell most of a PartyId or a MessageId.

    What stands for its middle tells of the odd signs in there.
    """
    if sum(len(one.shown) for one in every) <= most:
        return every
    tail = _fitting(reversed(every), (most - 1) * 3 // 5)
    head = min(_fitting(every, most - 1 - (most - 1) * 3 // 5), len(every) - tail)
    return [*every[:head], _left_out(every[head : len(every) - tail]), *every[len(every) - tail :]]


def _fitting(every: Iterable[Sign], most: int) -> int:
    """How many of the first signs take that room."""
    room, number = most, 0
    for one in every:
        room -= len(one.shown)
        if room < 0:
            break
        number += 1
    return number


def _left_out(every: list[Sign]) -> Sign:
    return Sign("…", tuple(code for one in every for code in one.codes), is_left_out=True)


def plainly(value: str, most: int = TEXT_MAX * 10) -> str:
    """The text with everything odd as an escape: for pictures, attributes and captions."""
    return "".join(one.shown for one in cut_inside(signs(value), most))


def told(codes: tuple[str, ...]) -> str:
    """What the characters are, for people: `U+0430 CYRILLIC SMALL LETTER A`."""
    named = [_named(code) for code in codes[:CODES_TOLD]]
    more = [f"and {len(codes) - CODES_TOLD} more"] if len(codes) > CODES_TOLD else []
    return ", ".join([*named, *more])


def _named(code: str) -> str:
    return f"U+{ord(code):04X} {unicodedata.name(code, '')}".rstrip()


def skeleton(value: str) -> str:
    """What a hasty eye reads: equal for names that are taken for one another.

    Without blanks, invisible signs, accents written apart, and capitals; look-alikes are what they
    look like.
    """
    plain = "".join(_POINTS.get(one, _LETTERS.get(one, one)) for one in value)
    seen = [one for one in unicodedata.normalize("NFKC", plain) if not _is_hidden(one)]
    alike = "".join(_POINTS.get(one, _LETTERS.get(one, one)) for one in seen)
    return unicodedata.normalize("NFC", alike.casefold())


def _is_hidden(one: str) -> bool:
    kind = unicodedata.category(one)
    return kind in INVISIBLE or kind in ("Zs", "Mn", "Me") or one in _BLANK


def _escape(one: str) -> str:
    point = ord(one)
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def _odd(value: str) -> Iterator[int]:
    """Places of the signs that are not what they seem, or are not seen."""
    for at, one in enumerate(value):
        if one == " ":
            if at in (0, len(value) - 1) or value[at - 1] == " ":
                yield at
        elif one == "\\":
            # It would be read as the beginning of an escape.
            if value[at + 1 : at + 2] in ("u", "U"):
                yield at
        elif one.isascii():
            if not one.isprintable():
                yield at
        elif _is_odd_by_itself(one) or (one.isdecimal() and _has_ascii(value)):
            yield at
    if not value.isascii():
        yield from _odd_in_words(value)


def _has_ascii(value: str) -> bool:
    return any(one.isascii() and one.isalnum() for one in value)


def _is_odd_by_itself(one: str) -> bool:
    kind = unicodedata.category(one)
    return (
        kind in INVISIBLE
        or kind in ("Zs", "Sk")
        or one in _BLANK
        or one in _POINTS
        or unicodedata.normalize("NFKC", one) != one
        or any(first <= ord(one) <= last for first, last in _PHONETIC)
    )


def _odd_in_words(value: str) -> Iterator[int]:
    """Letters of another script than their word's, and words of nothing but look-alikes."""
    places = list(enumerate(value))
    for is_word, run in groupby(places, lambda place: unicodedata.category(place[1])[0] in "LM"):
        if is_word:
            yield from _odd_in_word(list(run))


def _odd_in_word(word: list[tuple[int, str]]) -> Iterator[int]:
    letters = [(at, one, _script(one)) for at, one in word if unicodedata.category(one)[0] == "L"]
    scripts = [script for _, _, script in letters]
    own = _LATIN if _LATIN in scripts else scripts[0] if scripts else ""
    is_all_alike = all(one in _LETTERS for _, one, _ in letters)
    for at, one, script in letters:
        is_alike = one in _LETTERS and (is_all_alike or own == _LATIN)
        if is_alike or script in _ALIKE or script not in (own, _EASTERN):
            yield at
    last = ""
    for at, one in word:
        if unicodedata.category(one)[0] == "L":
            last = _script(one)
        elif last in _TAKES_NO_MARKS or _is_selector(one):
            yield at


def _is_selector(one: str) -> bool:
    return "VARIATION SELECTOR" in unicodedata.name(one, "") or one == "\u034f"


def _script(one: str) -> str:
    first = unicodedata.name(one, "").partition(" ")[0]
    return _EASTERN if first in _EAST else first
