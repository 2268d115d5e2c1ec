"""Foreign text made visible: nothing in it steers what shows it.

Partners choose names, actions, reasons and descriptions; they end on terminals and in logs. There
an escape sequence clears the screen or types for the operator, and a mark that turns the direction
of writing around makes one identifier look like another (attack X16). What cannot be seen is
written as the escape that Python and JSON have for it.
"""

import re
from typing import Final

# What `str.isprintable` has beside these (letters, marks, numbers, signs, the plain blank) is seen.
_UNSEEN_IN_JSON = re.compile(r"[^\n -~]")


def printable(text: str) -> str:
    """The text as one line in which everything is seen."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


QUOTED_LENGTH_MAX: Final = 60
"""Of foreign text inside a sentence of ours: enough to find it, and the sentence stays one."""


def quoted(text: str) -> str:
    """Foreign text as a sentence of ours quotes it: in quotes, visible, and not for ever."""
    cut = text if len(text) <= QUOTED_LENGTH_MAX else f"{text[:QUOTED_LENGTH_MAX]}..."
    return f"'{printable(cut)}'"


def printable_lines(text: str) -> str:
    """The same of a text of our own that has lines, as a traceback has."""
    return "\n".join(map(printable, text.split("\n")))


def printable_json(document: str) -> str:
    """A JSON document of the same value in which everything is seen; its line ends stay."""
    if document.isascii() and "\x7f" not in document:
        return document
    return _UNSEEN_IN_JSON.sub(lambda found: _escaped(found[0]), document)


def _escaped(sign: str) -> str:
    if sign.isprintable():
        return sign
    units = sign.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
