"""Which profile a version belongs to.

A version is in the Content-Type of the package, in that of the header part, and in the root of the
header document. The profiles also spell the attribute of the root differently, so a document of one
cannot be mistaken for one of the other.
"""

import re
from typing import Final

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.printable import quoted
from onceonly.message.profile import Profile
from onceonly.wire import names
from onceonly.wire.elements import misshapen
from onceonly.wire.registry import codecs, find_by_version
from onceonly.wire.xml import WHITE_SPACE, Element

_VERSION = re.compile(r"[0-9]{1,4}\.[0-9]{1,4}")
ROOT_TAG: Final = f"{{{names.NAMESPACE}}}{names.ROOT}"


def profile_of(version: str) -> Profile:
    """The profile that `version` belongs to.

    Raises `RemoteError`: OtherXml if it is no version, NotSupported for 1.0 and later.
    """
    plain = version.strip(WHITE_SPACE)
    profile = find_by_version(plain)
    if profile is not None:
        return profile
    if _VERSION.fullmatch(plain) is None:
        offered = " or ".join(filter(None, (codec.version for codec in codecs())))
        raise misshapen(
            f"the version {quoted(version)} is missing or is not a version; expected is {offered}"
        )
    raise RemoteError(
        ErrorCode.NOT_SUPPORTED,
        f"version {quoted(version)} is not offered; expected is 0.x, from before SOAP",
    )


def profile_of_root(root: Element) -> Profile:
    """The profile that the document under `root` names.

    Raises `RemoteError`: OtherXml for another root, NotSupported, Inconsistent.
    """
    if root.tag != ROOT_TAG:
        raise misshapen(
            f"the root element is {quoted(root.tag)}; expected is {names.ROOT} in {names.NAMESPACE}"
        )
    spellings = (codec.version_attribute for codec in codecs())
    versions = {name: root.attrib[name] for name in spellings if name in root.attrib}
    if len(versions) > 1:
        said = ", ".join(f"{name} is {quoted(version)}" for name, version in versions.items())
        raise misshapen(f"two versions on the root: {said}; expected is one of them")
    profile = profile_of("".join(versions.values()))
    check_same(profile, spelling_of_root(root))
    return profile


def spelling_of_root(root: Element) -> Profile:
    """The profile whose spelling of the version attribute `root` has; without one, the oldest."""
    oldest, *others = codecs()
    spelled = (codec for codec in reversed(others) if codec.version_attribute in root.attrib)
    return next(spelled, oldest).profile


def check_same(one: Profile | None, other: Profile | None) -> None:
    """Raise `RemoteError` (Inconsistent) if both are known and differ."""
    if one is not other and one is not None and other is not None:
        raise RemoteError(
            ErrorCode.INCONSISTENT,
            f"versions of two profiles in one package, {one.name} and {other.name}; expected is"
            " one in its Content-Type, in that of its header part and on the root element",
        )
