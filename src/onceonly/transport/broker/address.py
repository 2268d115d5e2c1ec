"""Where messages go in a broker, and where they come from, as one URI each.

    amqp://host:port/vhost?exchange=NAME&routing_key=KEY     an endpoint to publish to
    amqp://host:port/vhost?queue=NAME                        a queue to consume from

A URI of ours has no user in it: endpoints are written to journals, and credentials must not be (R13
of the threats). A vhost is percent-encoded; without one it is the broker's `/`.
"""

from urllib.parse import parse_qs, unquote, urlsplit

from onceonly.message.errors import LocalError
from onceonly.message.word import Word

PORTS = {"amqp": 5672, "amqps": 5671}


class Broker(Word):
    """A virtual host of a broker."""

    host: str
    port: int
    vhost: str
    is_tls: bool


class PublishAddress(Word):
    """Where a message is published."""

    broker: Broker
    exchange: str
    """Empty: the default exchange, whose routing keys are queue names."""
    routing_key: str


class QueueAddress(Word):
    """Where messages are consumed from."""

    broker: Broker
    queue: str


def read_publish_address(uri: str) -> PublishAddress:
    """The endpoint in `uri`. Raises `LocalError` (UnusableEndpoint)."""
    broker, terms = _read(uri, {"exchange", "routing_key"})
    if not terms.get("routing_key"):
        raise LocalError("UnusableEndpoint", f"{uri!r} names no routing_key")
    return PublishAddress(broker, terms.get("exchange", ""), terms["routing_key"])


def read_queue_address(uri: str) -> QueueAddress:
    """The queue in `uri`. Raises `LocalError` (UnusableEndpoint)."""
    broker, terms = _read(uri, {"queue"})
    if not terms.get("queue"):
        raise LocalError("UnusableEndpoint", f"{uri!r} names no queue")
    return QueueAddress(broker, terms["queue"])


def publish_uri(queue_uri: str) -> str:
    """The endpoint of the queue in `queue_uri` for publishers that use the default exchange."""
    read_queue_address(queue_uri)
    return queue_uri.replace("?queue=", "?routing_key=")


def _read(uri: str, names: set[str]) -> tuple[Broker, dict[str, str]]:
    try:
        parts = urlsplit(uri)
        port = parts.port
        terms = parse_qs(parts.query, strict_parsing=True) if parts.query else {}
    except ValueError as error:
        raise LocalError("UnusableEndpoint", f"{uri!r} is no URI: {error}") from None
    if parts.scheme not in PORTS or not parts.hostname or port == 0 or parts.fragment:
        raise LocalError("UnusableEndpoint", f"{uri!r} is no amqp or amqps address")
    if parts.username is not None or parts.password is not None:
        raise LocalError("UnusableEndpoint", "credentials do not belong into an address")
    if not set(terms) <= names or any(len(values) > 1 for values in terms.values()):
        raise LocalError(
            "UnusableEndpoint",
            f"the query of {uri!r} may have only {', '.join(sorted(names))}, each once",
        )
    vhost = unquote(parts.path[1:]) or "/"
    broker = Broker(parts.hostname, port or PORTS[parts.scheme], vhost, parts.scheme == "amqps")
    return broker, {name: values[0] for name, values in terms.items()}
