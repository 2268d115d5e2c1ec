"""Sessions, form tokens and guesses, over a clock that the test sets."""

from itertools import count

import pytest

from onceonly.console.sessions import IDLE_S, LIFETIME_S, SESSIONS_MAX, Sessions


class HandClock:
    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def sessions(clock):
    names = count()
    return Sessions(secret=b"s" * 32, now_s=clock, fresh=lambda: f"name-{next(names)}")


def test_a_session_that_is_not_used_ends(sessions, clock):
    """After an hour."""
    name = sessions.begin("key")
    clock.now_s += IDLE_S
    assert sessions.find(name, is_use=True).key == "key"
    clock.now_s += IDLE_S + 1
    assert sessions.find(name, is_use=True) is None


def test_a_page_that_renews_itself_does_not_use_a_session(sessions, clock):
    """A forgotten screen signs itself out."""
    name = sessions.begin("key")
    clock.now_s += IDLE_S - 1
    assert sessions.find(name, is_use=False) is not None
    clock.now_s += 2
    assert sessions.find(name, is_use=False) is None


def test_a_session_ends_at_last(sessions, clock):
    """However much it is used."""
    name = sessions.begin("key")
    while clock.now_s < 1_000 + LIFETIME_S:
        assert sessions.find(name, is_use=True) is not None
        clock.now_s += IDLE_S
    clock.now_s += 1
    assert sessions.find(name, is_use=True) is None


def test_a_session_that_was_ended_is_forgotten(sessions):
    """And an unknown name, or none, is nobody."""
    name = sessions.begin("key")
    sessions.end(name)
    sessions.end(None)
    assert sessions.find(name, is_use=True) is None
    assert sessions.find(None, is_use=True) is None


def test_sessions_are_bounded(sessions):
    """The oldest goes first."""
    names = [sessions.begin("key") for _ in range(SESSIONS_MAX + 1)]
    assert sessions.find(names[0], is_use=True) is None
    assert sessions.find(names[1], is_use=True) is not None


def test_a_form_token_is_of_one_browser(sessions):
    """And of this process."""
    token = sessions.form_token("a")
    assert sessions.is_form_token("a", token)
    assert not sessions.is_form_token("b", token)
    assert not sessions.is_form_token("a", "")
    assert not sessions.is_form_token("a", "ü")
