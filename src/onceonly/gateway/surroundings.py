"""What a gateway gets from outside besides its store: time, chance, network, files, faults."""

from collections.abc import Callable
from dataclasses import dataclass, field

from onceonly.gateway.chance import Chance
from onceonly.gateway.clock import Clock
from onceonly.gateway.config import Configuration
from onceonly.gateway.drill import Failpoints
from onceonly.gateway.identities import read_identities
from onceonly.gateway.sent_mails import SentMails
from onceonly.steps.signing import SigningIdentity
from onceonly.store.spool import Spool
from onceonly.transport.transport import Transport


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The real ones, or those of a simulation."""

    clock: Clock
    chance: Chance
    failpoints: Failpoints
    transport: Transport
    spool: Spool
    read_identities: Callable[[Configuration], tuple[SigningIdentity, ...]] = read_identities
    """Raises `OSError` for a key that cannot be used."""
    sent_mails: SentMails = field(default_factory=SentMails)
    """The mails that `transport` sent, if it sends any."""
