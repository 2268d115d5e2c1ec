"""Reading a header document, of whichever profile it says it is."""

from onceonly.message.profile import Profile
from onceonly.wire import rm2000, rm2001
from onceonly.wire.document import About, Document
from onceonly.wire.limits import Limits
from onceonly.wire.version import ROOT_TAG, check_same, profile_of_root, spelling_of_root
from onceonly.wire.xml import Element


def read(root: Element, declared: Profile | None, limits: Limits) -> Document:
    """The document under `root`; `declared` is the profile that its package says, if it does.

    Raises `RemoteError`: OtherXml for elements out of place, ValueNotRecognized, Inconsistent
    and NotSupported for values, MessageTooLarge past a limit.
    """
    profile = profile_of_root(root)
    check_same(profile, declared)
    return rm2001.read(root, limits) if profile is Profile.RM_2001 else rm2000.read(root, limits)


def salvage(root: Element, limits: Limits) -> About:
    """What can be known of the sender of a document that `read` refuses. Never raises."""
    if root.tag != ROOT_TAG:
        return About()
    if spelling_of_root(root) is Profile.RM_2001:
        return rm2001.salvage(root, limits)
    return rm2000.salvage(root, limits)
