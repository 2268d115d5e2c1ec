"""Foreign text, made visible."""

import json
import sys
import unicodedata

import pytest

from onceonly.message.printable import printable, printable_json, printable_lines, quoted

STEERING = [
    *map(chr, range(0x20)),
    *map(chr, range(0x7F, 0xA0)),
    *map(chr, range(0x200B, 0x2010)),
    *map(chr, range(0x2028, 0x202F)),
    *map(chr, range(0x2060, 0x2070)),
    *("\u061c", "\u00ad", "\ufeff", "\ufffe", "\ud800", "\udfff", "\U000e0001", "\U000e0041"),
]
"""C0, DEL, C1, bidi controls, separators, zero width, BOM, halves of pairs, tags."""


@pytest.mark.parametrize("sign", STEERING, ids=lambda sign: f"U+{ord(sign):04X}")
def test_what_steers_is_written_as_an_escape(sign):
    """X16: in a line, in lines, in JSON; what is around it stays."""
    text = f"Größe {sign} 10 €"
    for shown in (printable(text), printable_json(json.dumps(text, ensure_ascii=False))):
        assert shown.isprintable()
        assert shown.strip('"').startswith("Größe \\")
        assert shown.strip('"').endswith(" 10 €")


def test_json_keeps_its_value():
    """The escapes are JSON's own, of pairs too; line ends of the document stay."""
    value = {f"name {sign}": [sign, "ü", "🙂", "a\u0301"] for sign in STEERING}
    document = json.dumps(value, ensure_ascii=False, indent=2)
    shown = printable_json(document)
    assert json.loads(shown) == value
    assert all(line.isprintable() for line in shown.split("\n"))
    assert "🙂" in shown
    assert len(shown.split("\n")) == len(document.split("\n"))


def test_what_is_seen_stays_as_it_is():
    """Every letter and sign that is one."""
    seen = "".join(c for c in map(chr, range(sys.maxunicode + 1)) if c.isprintable())
    assert printable(seen) == seen
    assert not {unicodedata.category(c) for c in seen} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert printable_json('"plain"') == '"plain"'


def test_lines_of_our_own_stay_lines():
    """As of a traceback; what else is in them is made visible."""
    assert printable_lines("a\nb\x1b\rc\n") == "a\nb\\x1b\\rc\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", "''"),
        ("a b", "'a b'"),
        ("a\nb\x1b", "'a\\nb\\x1b'"),
        ("x" * 60, f"'{'x' * 60}'"),
        ("x" * 61, f"'{'x' * 60}...'"),
        ("\u202e" * 9_000, "'" + "\\u202e" * 60 + "...'"),
    ],
)
def test_what_a_sentence_quotes_is_short_and_seen(text, shown):
    """Item 19: enough of it to be found, and the sentence goes on behind it."""
    assert quoted(text) == shown
