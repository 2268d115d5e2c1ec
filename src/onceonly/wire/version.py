"""Which profile a version belongs to, wherever one is written down.

A version stands in the Content-Type of the package, in that of the header part and on the root of
the header document. The drafts 0.90 to 0.99 are `rm-2001`, those before `rm-2000`; the two also
spell the attribute of the root differently, so a document cannot be taken for the other kind.
"""

import re
from functools import lru_cache
from typing import Final

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.printable import quoted
from onceonly.message.profile import Profile
from onceonly.wire import names
from onceonly.wire.elements import misshapen
from onceonly.wire.xml import WHITE_SPACE, Element

_VERSION = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})")
_DRAFT_2001 = re.compile(r"9[0-9]")
ROOT_TAG: Final = f"{{{names.NAMESPACE}}}{names.ROOT}"


@lru_cache(maxsize=64)
def profile_of(version: str) -> Profile:
    """The profile that `version` belongs to.

    Raises `RemoteError`: OtherXml where it is no version, NotSupported for 1.0 and later.
    """
    found = _VERSION.fullmatch(version.strip(WHITE_SPACE))
    if found is None:
        raise misshapen(
            f"the version {quoted(version)} is missing or is not a version; expected is"
            f" {names.VERSION_2000} or {names.VERSION_2001}"
        )
    if found[1] != "0":
        raise RemoteError(
            ErrorCode.NOT_SUPPORTED,
            f"version {quoted(version)} is not offered; expected is 0.x, from before SOAP",
        )
    return Profile.RM_2001 if _DRAFT_2001.fullmatch(found[2]) else Profile.RM_2000


def profile_of_root(root: Element) -> Profile:
    """The profile that the document under `root` says it is of.

    Raises `RemoteError`: OtherXml for another root, NotSupported, Inconsistent.
    """
    if root.tag != ROOT_TAG:
        raise misshapen(
            f"the root element is {quoted(root.tag)}; expected is {names.ROOT} in {names.NAMESPACE}"
        )
    spelling = spelling_of_root(root)
    as_2000, as_2001 = map(root.get, (names.VERSION_ATTRIBUTE_2000, names.VERSION_ATTRIBUTE_2001))
    if as_2000 is not None and as_2001 is not None:
        raise misshapen(
            f"two versions on the root: {names.VERSION_ATTRIBUTE_2000} is {quoted(as_2000)},"
            f" {names.VERSION_ATTRIBUTE_2001} is {quoted(as_2001)}; expected is one of them"
        )
    profile = profile_of(as_2000 or as_2001 or "")
    check_same(profile, spelling)
    return profile


def spelling_of_root(root: Element) -> Profile:
    """The profile whose spelling of the version attribute `root` has."""
    if names.VERSION_ATTRIBUTE_2001 in root.attrib:
        return Profile.RM_2001
    return Profile.RM_2000


def check_same(one: Profile | None, other: Profile | None) -> None:
    """Raise `RemoteError` (Inconsistent) where both are known and differ."""
    if one is not other and one is not None and other is not None:
        raise RemoteError(
            ErrorCode.INCONSISTENT,
            f"versions of two profiles in one package, {one.name} and {other.name}; expected is"
            " one in its Content-Type, in that of its header part and on the root element",
        )
