"""A signal of ours in the answer of a transport, with the headers that its profile wants there."""

from onceonly.message.agreement import Agreement
from onceonly.message.package import Package
from onceonly.message.profile import Profile
from onceonly.message.signals import SignalAction
from onceonly.steps.signals import whole
from onceonly.steps.transmission import signal_headers
from onceonly.transport.transport import Answer as TransportAnswer


def answer_with(
    whose: Agreement | Profile, action: SignalAction, package: Package
) -> TransportAnswer:
    """The signal as an answer that its receiver waits for.

    `whose` is the profile alone where no agreement is known.
    """
    headers = signal_headers(whose, action)
    return TransportAnswer(200, None, package.content_type, whole(package), headers=headers)
