"""The profiles on the wire, and the codec of each.

The profiles of onceonly are registered here. Another one needs a folder with a `Codec`, and a call
of `register` before the configuration is read: from then on its name, its packages and its
documents are known.
"""

from collections.abc import Callable
from functools import lru_cache

from onceonly.message.errors import FaultCode
from onceonly.message.profile import Profile
from onceonly.wire import ebms2, names, rm2000, rm2001
from onceonly.wire.codec import Codec

_codecs: dict[Profile, Codec] = {}
_forgetting: list[Callable[[], None]] = []


def register(codec: Codec) -> None:
    """Offer a profile. Its name, and what shows its packages to be of it, must be its own."""
    for other in _codecs.values():
        assert codec.profile.name != other.profile.name, "two profiles of one name"
        if codec.header_type == other.header_type:
            assert codec.version_attribute != other.version_attribute, "two forms of one root"
            assert None not in (codec.version, other.version), "two forms of one media type"
    _codecs[codec.profile] = codec
    _forget()


def withdraw(codec: Codec) -> None:
    """Do not offer the profile any more. No message of it may be under way."""
    del _codecs[codec.profile]
    _forget()


def forget_with(cache_clear: Callable[[], None]) -> None:
    """Call this whenever the profiles that are offered change."""
    _forgetting.append(cache_clear)


def _forget() -> None:
    for cache_clear in _forgetting:
        cache_clear()


def codecs() -> tuple[Codec, ...]:
    """Every codec, in the order of registration."""
    return tuple(_codecs.values())


def codec_of(profile: Profile) -> Codec:
    """The codec of a profile that is offered."""
    return _codecs[profile]


def find_profile(name: str) -> Profile | None:
    """The profile of this name."""
    return next((profile for profile in _codecs if profile.name == name), None)


@lru_cache(maxsize=64)
def find_by_version(version: str) -> Profile | None:
    """The profile that reads this version."""
    found = (one.profile for one in _codecs.values() if one.versions.fullmatch(version))
    return next(found, None)


def has_header_type(header_type: str, *, stands_alone: bool = False) -> bool:
    """Whether a form has header documents of this media type, or has them without a frame."""
    return any(
        codec.header_type == header_type and (codec.stands_alone or not stands_alone)
        for codec in _codecs.values()
    )


@lru_cache(maxsize=1)
def header_types() -> str:
    """The media types of the header documents of all profiles, for a refusal."""
    return " or ".join(dict.fromkeys(codec.header_type for codec in _codecs.values()))


@lru_cache(maxsize=1)
def package_types() -> str:
    """The Content-Types of the packages of all profiles, for a refusal."""
    alone = dict.fromkeys(one.header_type for one in _codecs.values() if one.stands_alone)
    framed = f"{names.PACKAGE_TYPE} with the type {header_types()}"
    return ", or ".join((framed, *(f"{one} alone" for one in alone)))


def find_by_type(header_type: str | None) -> Profile | None:
    """The profile whose form this media type of the header says, without a version."""
    for codec in _codecs.values():
        if codec.header_type == header_type and codec.version is None:
            return codec.profile
    return None


@lru_cache(maxsize=64)
def has_short_way(profile: Profile | None) -> bool:
    """Whether documents of this profile may be read by a template; where it is None, of any."""
    return profile is None or _codecs[profile].leaf is not None


@lru_cache(maxsize=64)
def reads_latin_1(profile: Profile | None) -> bool:
    """Whether header documents of this profile may be in ISO-8859-1."""
    return profile is not None and _codecs[profile].reads_latin_1


@lru_cache(maxsize=64)
def fault_of(profile: Profile | None) -> FaultCode | None:
    """The fault that refuses a package without a readable document, if the form has any."""
    has_faults = profile is not None and _codecs[profile].has_faults
    return FaultCode.CLIENT if has_faults else None


forget_with(find_by_version.cache_clear)
forget_with(header_types.cache_clear)
forget_with(package_types.cache_clear)
forget_with(has_short_way.cache_clear)
forget_with(reads_latin_1.cache_clear)
forget_with(fault_of.cache_clear)
register(rm2000.CODEC)
register(rm2001.CODEC)
register(ebms2.CODEC)
