"""The digest of what a message brings."""

from hashlib import sha256

from onceonly.message.digest import content_digest
from onceonly.message.message import Payload

ORDER = Payload("order", "text/plain", 5, sha256(b"order").hexdigest(), "order.txt")
TERMS = Payload("terms", "text/plain", 5, sha256(b"terms").hexdigest(), "terms.txt")


def test_the_digest_of_one_payload_is_what_sha256sum_shows():
    """So that anybody can compare it with the file."""
    assert content_digest([ORDER]) == sha256(b"order").hexdigest()


def test_the_digest_covers_which_payloads_there_are_and_their_order():
    """No selection and no other order of the same documents has the same digest."""
    contents = [], [ORDER], [TERMS], [ORDER, TERMS], [TERMS, ORDER], [ORDER, ORDER]
    assert len({content_digest(payloads) for payloads in contents}) == len(contents)


def test_the_digest_does_not_depend_on_what_a_relay_may_rename():
    """Two journals agree where only Content-IDs and labels differ (R-04, I2)."""
    renamed = Payload("other", "text/plain", 5, ORDER.digest, "")
    assert content_digest([renamed, TERMS]) == content_digest([ORDER, TERMS])
