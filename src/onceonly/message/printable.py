"""Foreign text made visible, so that nothing in it controls a terminal.

Partners choose names, actions, reasons and descriptions, which are shown on terminals and in logs.
There an escape sequence could clear the screen or type for the operator, and a mark that changes
the direction of writing could make one identifier look like another (attack X16). Invisible
characters are written as the escapes that Python and JSON have for them.
"""

import re
from typing import Final

# All other characters that `str.isprintable` accepts can be seen, and so can the plain blank.
_UNSEEN_IN_JSON = re.compile(r"[^\n -~]")


def printable(text: str) -> str:
    """The text as one line without invisible characters."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


QUOTED_LENGTH_MAX: Final = 60
"""Most characters of foreign text in a message of ours: enough to find it again."""


def quoted(text: str) -> str:
    """Foreign text as our messages quote it: in quotes, visible, and cut if it is long."""
    cut = text if len(text) <= QUOTED_LENGTH_MAX else f"{text[:QUOTED_LENGTH_MAX]}..."
    return f"'{printable(cut)}'"


def printable_lines(text: str) -> str:
    """`printable` for a text of several lines, for example a traceback."""
    return "\n".join(map(printable, text.split("\n")))


def printable_json(document: str) -> str:
    """The JSON document with the same value and no invisible characters; its line ends stay."""
    if document.isascii() and "\x7f" not in document:
        return document
    return _UNSEEN_IN_JSON.sub(lambda found: _escaped(found[0]), document)


def _escaped(sign: str) -> str:
    if sign.isprintable():
        return sign
    units = sign.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
