"""A drawing made small is the same drawing: its words, its strokes, and what they refer to."""

from __future__ import annotations

from onceonly.lake.page.compact import compact

STROKE = 'style="fill: none; stroke: #040404; stroke-width: 0.6; stroke-linecap: square"'


def test_names_that_nothing_refers_to_and_decimals_are_left_out():
    """Groups say nothing; a tenth of a pixel is seen by nobody."""
    drawn = f'<g id="axes_1">\n <path d="M 1.23456 2 \nL 3.0 4.96 \n" {STROKE}/>\n</g>'
    assert (
        compact(drawn) == '<path d="M1.2 2L3 5" style="fill:none;stroke:#040404;stroke-width:0.6"/>'
    )


def test_what_is_referred_to_keeps_its_name():
    """A clip, a pattern, a tick."""
    drawn = '<defs><path id="tick" d="M 0 0 L 0 3" style="stroke: #010101"/></defs>'
    drawn += '<use xlink:href="#tick" x="1.0" y="2.0" style="stroke: #010101"/>'
    assert 'id="tick"' in compact(drawn)
    assert 'href="#tick" x="1" y="2"' in compact(drawn)


def test_strokes_of_one_look_are_joined_unless_they_shine_through():
    """Where two of those overlap it is darker, so each stays as it is."""
    one, other = (f'<path d="M {at} 0 L {at} 9" {STROKE}/>' for at in (1, 2))
    assert compact(one + other).count("<path") == 1
    assert "M1 0L1 9M2 0L2 9" in compact(one + other)
    pale = 'style="fill: #040404; opacity: 0.3"'
    assert compact(f'<path d="M 1 0" {pale}/><path d="M 2 0" {pale}/>').count("<path") == 2


def test_words_are_left_as_they_are():
    """Numbers and blanks in a label are somebody's name."""
    drawn = '<!-- 1.23456 -->\n<text x="1.27" style="font-family: \'X\'">a  1.23456 b</text>'
    assert compact(drawn) == '<text x="1.3">a  1.23456 b</text>'
