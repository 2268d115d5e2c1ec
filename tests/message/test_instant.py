"""Instants and moments."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onceonly.message.instant import US_PER_S, from_datetime, to_datetime


@given(st.integers(-30_000_000_000 * US_PER_S, 200_000_000_000 * US_PER_S))
def test_an_instant_survives_being_a_moment(at):
    """To the microsecond, before and after 1970."""
    assert from_datetime(to_datetime(at)) == at


def test_the_same_moment_in_two_time_zones_is_one_instant():
    """An offset changes how a moment is written, not when it is."""
    moment = datetime(2001, 3, 4, 5, 6, 7, 89, tzinfo=timezone(timedelta(hours=-7)))
    assert from_datetime(moment) == from_datetime(moment.astimezone(UTC)) == 983_707_567_000_089


def test_a_moment_without_a_time_zone_is_no_instant():
    """Guessing one would move every deadline by hours."""
    with pytest.raises(ValueError, match="without a time zone"):
        from_datetime(datetime(2001, 3, 4))  # noqa: DTZ001 - because its lack is what is tried
