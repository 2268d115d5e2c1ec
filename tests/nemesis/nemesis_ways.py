"""The ways on which two gateways exchange, and what each promises about the end of a message."""

from typing import TYPE_CHECKING, NamedTuple

from nemesis_gateways import Exchange, Gateway
from nemesis_keys import write_certificate, write_key

from onceonly.demo.gateways import free_ports

if TYPE_CHECKING:
    from broker import Broker


class Way(NamedTuple):
    """What the evidence at the end must be."""

    name: str
    ahead_max: int
    """Messages submitted and not yet settled, per side: kills meet a full window and a queue
    behind it, not mountains."""
    is_ordered: bool = False
    is_acknowledged: bool = True
    """By the receiver's MSH, not by a product underneath."""
    conversations: int = 0
    """How many ordered conversations the messages of a side belong to, in turn; 0: no order."""

    def conversation_of(self, number: int) -> str | None:
        """The conversation of the message with this number of its side."""
        return f"conversation-{number % self.conversations}" if self.conversations else None

    @property
    def end(self) -> str:
        """The final state at the sender."""
        return "acknowledged" if self.is_acknowledged else "sent"


RM_2000 = Way("rm-2000", 6, is_ordered=True)
RM_2001 = Way("rm-2001", 24)
SIGNED = Way("ebms-2.0 signed", 24)
SIGNED_IN_ORDER = Way("ebms-2.0 signed, in order", 12, conversations=3)
MAIL = Way("rm-2001 by mail", 24)
BROKER = Way("rm-2001 by method Transport", 24, is_acknowledged=False)


def use_http(exchange: Exchange, way: Way) -> None:
    """As usual, in the profile of the way."""
    exchange.agree(profile=way.name)


def use_signatures(exchange: Exchange, way: Way) -> None:
    """Everything is signed, and so is what acknowledges it; in an order if the way has one."""
    names = [gateway.site.name for gateway in exchange.gateways]
    for gateway, name, other in zip(exchange.gateways, names, names[::-1], strict=True):
        for one in names:
            write_certificate(gateway.site.directory, one)
        key = write_key(gateway.site.directory, name)
        gateway.tables["identity"] = {"id": name, "certificate": f"{name}.pem", "key": key.name}
        gateway.agree(
            profile="ebms-2.0",
            timeout=None,
            sign="all",
            ack_requested="Signed",
            partner_certificates=[f"{other}.pem"],
            message_order="Guaranteed" if way.conversations else None,
        )


def use_mail(exchange: Exchange) -> None:
    """Each side's mail goes straight to the listener of the other one."""
    sides = list(zip(exchange.gateways, free_ports(2), strict=True))
    for (gateway, port), (partner, their_port) in (sides, sides[::-1]):
        gateway.tables["gateway"] = {"uri": f"smtp:{_mailbox(gateway)}"}
        gateway.tables["smtp"] = {
            "mailbox": _mailbox(gateway),
            "listen": f"smtp://127.0.0.1:{port}",
            "relay": f"smtp://127.0.0.1:{their_port}",
            "starttls": "never",
        }
        gateway.agree(profile="rm-2001", send_to=f"smtp:{_mailbox(partner)}")


def _mailbox(gateway: Gateway) -> str:
    return f"msh@{gateway.site.name}.example"


def use_broker(exchange: Exchange, broker: "Broker") -> None:
    """A queue for each side; the broker is the reliable product underneath (S1-12)."""
    ours, theirs = exchange.gateways
    for gateway, partner in ((ours, theirs), (theirs, ours)):
        gateway.tables["gateway"] = {"uri": broker.uri(f"routing_key={_queue(gateway)}")}
        gateway.tables["amqp"] = {"listen": broker.uri(f"queue={_queue(gateway)}")}
        gateway.agree(
            profile="rm-2001",
            send_to=broker.uri(f"routing_key={_queue(partner)}"),
            reliable_messaging_method="Transport",
            timeout=None,
            retries=None,
        )


def _queue(gateway: Gateway) -> str:
    return f"{gateway.site.name}-{gateway.site.msh_port}"
