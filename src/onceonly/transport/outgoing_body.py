"""The check that every sender makes of a body while it is sent."""

from onceonly.message.errors import LocalError
from onceonly.transport.transport import Body


def check_size(body: Body, size_bytes: int) -> None:
    """Raise `LocalError` (BodyChanged) unless the chunks have the length that the body promised.

    Called before the last piece leaves, so a file that was changed meanwhile never arrives whole.
    """
    if size_bytes != body.size_bytes:
        text = f"the body has {size_bytes} bytes where {body.size_bytes} were promised"
        raise LocalError("BodyChanged", text)
