"""Reading a header document, of the profile that it names."""

from typing import Final

from onceonly.message.profile import Profile
from onceonly.wire.document import About, Document
from onceonly.wire.limits import Limits
from onceonly.wire.registry import codec_of
from onceonly.wire.template import Templates
from onceonly.wire.version import ROOT_TAG, check_same, profile_of_root, spelling_of_root
from onceonly.wire.xml import Element, parse

TEMPLATES: Final = Templates()


def find(
    document: bytes, charset: str | None, declared: Profile | None, limits: Limits
) -> Document | None:
    """The document, read by the short way; None if it must be read the long way.

    `declared` is the profile that its package names, if any. Never raises.
    """
    if declared is None:
        return None
    return TEMPLATES.find(document, charset, codec_of(declared), limits)


def learn(document: bytes, charset: str | None, declared: Profile | None, limits: Limits) -> None:
    """Prepare the short way for documents like this one, which was read the long way."""
    if declared is None:
        return
    TEMPLATES.learn(
        document,
        charset,
        codec_of(declared),
        limits,
        # The short way decodes UTF-8 alone, so that a document in ISO-8859-1 must not be learned.
        read=lambda like: read(parse(like, charset, limits), declared, limits),
    )


def read(root: Element, declared: Profile | None, limits: Limits) -> Document:
    """The document under `root`; `declared` as in `find`.

    Raises `RemoteError`: OtherXml for elements out of place, ValueNotRecognized, Inconsistent
    and NotSupported for values, MessageTooLarge past a limit.
    """
    profile = declared
    if profile is None or codec_of(profile).version is not None:
        profile = profile_of_root(root)
        check_same(profile, declared)
    return codec_of(profile).read(root, limits)


def salvage(root: Element, limits: Limits, declared: Profile | None = None) -> About:
    """What can be known about the sender of a document that `read` refuses. Never raises."""
    if declared is not None and codec_of(declared).version is None:
        return codec_of(declared).salvage(root, limits)
    if root.tag != ROOT_TAG:
        return About()
    return codec_of(spelling_of_root(root)).salvage(root, limits)
