"""Texts of others on a page: each escaped once, visible, bounded."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onceonly.console import spans
from onceonly.console.rendering import NAME_LENGTH_MAX, TEXT_LENGTH_MAX, environment, named, url

NOW = datetime(2026, 11, 26, 12, 0, tzinfo=UTC)


def rendered(template: str, **values: object) -> str:
    return environment().from_string(template).render(now=NOW, **values)


@given(st.text())
def test_no_text_becomes_markup(text):
    """In an element, in an attribute, and as a name."""
    shown = rendered('<p title="{{ text }}">{{ text }}|{{ text | named }}</p>', text=text)
    inside = shown.removeprefix('<p title="').removesuffix("</p>")
    assert inside.count("<") == inside.count("<bdi") + inside.count("</bdi>")
    title = inside.split('">', 1)[0]
    assert '"' not in title
    assert "<" not in title


@given(st.text())
def test_nothing_in_a_text_is_invisible(text):
    """No mark that turns the direction of writing around, no control."""
    shown = rendered("{{ text }}", text=text)
    assert shown.isprintable()


def test_the_templates_own_lines_stay():
    """Only what is placed is made visible."""
    assert rendered("<p>\n{{ text }}\n</p>", text="a\nb") == "<p>\na\\nb\n</p>"


def test_a_text_without_an_end_is_cut():
    """The JSON twin has the whole."""
    assert len(rendered("{{ text }}", text="x" * 10_000)) == TEXT_LENGTH_MAX


def test_a_long_name_is_cut_in_its_middle_and_whole_where_it_is_pointed_at():
    """Both ends of an identifier tell most."""
    name = "a" * 100 + "z" * 100
    shown = str(named(name))
    assert f'title="{name}"' in shown
    cut = shown.rpartition('">')[2].removesuffix("</bdi>")
    assert len(cut) == NAME_LENGTH_MAX
    assert (cut[0], cut[-1]) == ("a", "z")


def test_a_template_cannot_show_what_is_not_there():
    """A slip in a name is an error, not an empty place."""
    with pytest.raises(Exception, match="undefined"):
        rendered("{{ nothing }}")


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        ("2026-11-26T11:57:00.000000Z", "11:57:00|3 min ago"),
        ("2026-11-26T12:00:00.100000Z", "12:00:00|now"),
        ("2026-11-27T13:05:00.000000Z", "2026-11-27 13:05:00|in 1 d 1 h"),
        ("2026-11-26T10:58:55.000000Z", "10:58:55|1 h 1 min ago"),
    ],
)
def test_an_instant_is_told_in_utc_and_in_words(at, shown):
    """With the whole of it for programs."""
    text = rendered("{{ at | when }}", at=at)
    instant, words = shown.split("|")
    assert f'{instant} <span class="ago">{words}</span>' in text
    assert f'datetime="{at[:19]}' in text


def test_an_address_carries_any_value():
    """A MessageId with anything in it is one value of a query."""
    assert url("message", id="a&b=/?#ü") == "/console/message?id=a%26b%3D%2F%3F%23%C3%BC"
    assert url("messages", q=None) == "/console/messages"


def test_a_great_number_is_shown_with_narrow_spaces():
    """As digits, and not with the escape that a stranger's text would have."""
    template = "{{ 1234567 | count }} {{ given }}"
    assert rendered(template, given=spans.count(12_000)) == "1\u202f234\u202f567 12\u202f000"
    assert rendered(template, given="1\u202f000").endswith("1\\u202f000")
