"""A body on its way out: what every sender checks about it."""

from onceonly.message.errors import LocalError
from onceonly.transport.transport import Body


def check_size(body: Body, size_bytes: int) -> None:
    """The chunks were as long together as the body promised, else LocalError.

    Checked before the last piece leaves: a file that changed under us never arrives whole.
    """
    if size_bytes != body.size_bytes:
        text = f"the body has {size_bytes} bytes where {body.size_bytes} were promised"
        raise LocalError("BodyChanged", text)
