"""Which profiles there are on the wire, and how one more comes and goes."""

import re
from dataclasses import replace

import pytest
from rm2001_samples import DOCUMENT, HEADER_TYPE, PACKAGE_TYPE
from wire_samples import PAYLOAD, PAYLOAD_HEAD, body_of, decode, header_part, part, refusal

from onceonly.message.errors import ErrorCode
from onceonly.message.profile import PROFILES, Profile
from onceonly.message.word import changed
from onceonly.wire import registry, rm2001

OTHER = replace(
    rm2001.CODEC,
    profile=replace(Profile.RM_2001, name="other"),
    version="7.0",
    versions=re.compile(r"7\.0"),
    version_attribute="edition",
    read=lambda root, limits: changed(rm2001.CODEC.read(root, limits), profile=OTHER.profile),
    leaf=None,
)
"""The form of rm-2001 under a version of its own, and without a short way."""


@pytest.fixture
def other():
    """It is offered while a test runs."""
    registry.register(OTHER)
    yield OTHER
    registry.withdraw(OTHER)


def sample() -> tuple[bytes, str]:
    document = DOCUMENT.replace('version="0.93"', 'edition="7.0"')
    header = header_part(document, HEADER_TYPE.replace("0.93", "7.0"))
    return body_of(header, part(PAYLOAD_HEAD, PAYLOAD)), PACKAGE_TYPE.replace("0.93", "7.0")


def test_every_profile_of_the_house_has_its_codec():
    assert tuple(codec.profile for codec in registry.codecs()) == PROFILES
    assert [registry.codec_of(profile).profile for profile in PROFILES] == [*PROFILES]


def test_a_profile_is_found_by_its_name_while_it_is_offered(other):
    assert registry.find_profile("other") is other.profile
    assert registry.find_profile("another") is None


def test_a_package_of_a_registered_profile_is_read(other):
    assert decode(*sample()).profile is other.profile


def test_a_profile_that_was_withdrawn_is_not_read_any_more():
    registry.register(OTHER)
    assert decode(*sample()).profile is OTHER.profile
    registry.withdraw(OTHER)
    assert refusal(*sample()).code is ErrorCode.NOT_SUPPORTED
    assert registry.find_profile("other") is None


@pytest.mark.parametrize(
    "taken", [replace(OTHER, profile=Profile.RM_2000), replace(OTHER, version_attribute="version")]
)
def test_no_two_profiles_are_told_apart_by_nothing(taken):
    """A name is in configurations, the spelling of the root decides how a document is read."""
    with pytest.raises(AssertionError):
        registry.register(taken)


def test_no_version_is_read_by_two_profiles():
    """Every 0.x is read by one, and 0.90 to 0.99 alone by the younger."""
    for minor in (f"{n:0{width}}" for width in (1, 2, 3, 4) for n in range(10**width)):
        readers = [one.profile for one in registry.codecs() if one.versions.fullmatch(f"0.{minor}")]
        is_younger = len(minor) == 2 and minor[0] == "9"
        assert readers == [Profile.RM_2001 if is_younger else Profile.RM_2000], minor
