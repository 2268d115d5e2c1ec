"""The bounds of the HTTP transport, each with its reason.

Knows numbers only. Tests make the times small; deployments rarely change anything but the body
limit. Threats H8-H26 and faults N7, N11, R1, A4 are what the bounds are against.
"""

from onceonly.message.word import Word

KIB = 1024
MIB = 1024 * KIB

HEAD_BYTES_MAX = 16 * KIB
"""The head of a request or of an answer. Those of MSHs and proxies are below 2 KiB."""

HEADERS_MAX = 64
"""Header lines in one request: four times what a chain of proxies adds."""

BODY_BUFFER_MAX = 256 * KIB
"""Body bytes held for a receiver that is slower than the network; then reading pauses."""

WHOLE_BODY_BYTES_MAX = 64 * KIB
"""Longest body that is taken at once where all of it came with its head; a longer one goes through
the buffer, which is counted."""

PIPELINE_BYTES_MAX = 64 * KIB
"""Bytes of further requests held while one is being received; then reading pauses."""

CHUNK_OVERHEAD_MAX = 64 * KIB
"""Chunk sizes, extensions and trailers of one request, beyond an eighth of its body. Ordinary
chunks of 1 KiB and more cost below 1 %; one-byte chunks cost 500 % and are an attack (H13)."""

CHUNK_OVERHEAD_SHARE = 8
"""One byte of chunk framing is allowed for so many bytes of body, see CHUNK_OVERHEAD_MAX."""

LINGER_BYTES_MAX = 4 * MIB
"""Thrown away after an early refusal, so that the peer can read the answer before the reset."""

ANSWER_BODY_MAX = 64 * KIB
"""A body that an answer should not have: up to here it is skipped and the connection kept."""

REPLY_BYTES_MAX = 1 * MIB
"""A package that comes back in an answer (syncReplyMode, seed 001 §1.2.2). Both sides hold it in
memory, and a client has 512 exchanges at once; a longer one needs a POST of its own."""

CONNECT_TRIES = 2
"""After a refused connection there is a second try, since nothing left (seed 000 §2.5.4, S0-72)."""

WATCH_INTERVAL_S_MAX = 1.0
"""Time between two checks of the time limits of all connections. With 1,024 connections a check
takes less than 1 ms: 0.1 % of a core."""


class HttpLimits(Word):
    """Limits of the endpoint. Times in seconds."""

    body_bytes_max: int = 1024 * MIB + 16 * MIB
    """One payload of 1 GiB and room for the MIME around it."""
    header_timeout_s: float = 10.0
    """From the first byte of a request, or from the connect, to the end of the head (A4)."""
    body_grace_s: float = 10.0
    """How late a body may be, measured by the least rate."""
    body_rate_min: int = 1000
    """Bytes per second over any stretch of the body, not counting times when we paused the
    reading."""
    idle_timeout_s: float = 60.0
    """A connection kept alive without a request. Longer than our own client's, so that the
    client closes first and seldom meets a connection that just died."""
    write_timeout_s: float = 10.0
    """How long a peer may not read its answers."""
    linger_s: float = 2.0
    """How long a refused peer may go on sending before the connection is reset."""
    connections_max: int = 1024
    """All together: the usual limit of open files is 1,024 at least, and more is an attack."""
    connections_per_address_max: int = 64
    """From one address, so that one peer alone cannot lock all others out; more than our own
    client opens to one host."""
    backlog: int = 128
    """Connections that the kernel holds until we accept them. asyncio tries as many accepts in
    one go, and reports each when descriptors are used up."""


class HttpClientLimits(Word):
    """Limits of the sender. Times in seconds."""

    connect_timeout_s: float = 5.0
    """TCP and TLS together."""
    connect_pause_s: float = 0.25
    """Pause before the second try of a refused connection (seed 000 §2.5.4): by then a peer that
    restarts its listener is back."""
    write_timeout_s: float = 30.0
    """How long no byte can be written, since the peer's window stays closed."""
    response_timeout_s: float = 20.0
    """From the last byte that left to the head of the answer."""
    total_s: float = 120.0
    """One exchange, in addition to the time for its size at `rate_min`."""
    rate_min: int = 10_000
    """Bytes per second. A 1 GiB body may take 30 hours, but not for ever."""
    idle_timeout_s: float = 4.0
    """A connection that was idle for longer is not used again. Shorter than the limits of endpoints
    (the shortest known default is 5 s, of Node.js): what is sent while the peer closes has an
    unknown outcome, and the transport does not send it again (R-38)."""
    wait_s: float = 30.0
    """Longest wait for a free connection to the host; after it the transmission is refused, and
    nothing left."""
    waiters_max: int = 4096
    """Sends that wait for a connection; beyond that they are refused at once."""
    connections_per_host_max: int = 48
    """One slow peer holds so many and cannot stall the others; fewer than an endpoint of ours
    grants to one address."""
    connections_max: int = 512
    """All together; half of the usual limit of open files."""

    @property
    def silent_s(self) -> float:
        """Longest time of one transmission to a peer that does not answer.

        It does not include the time to send a large body, nor `wait_s`, which is needed if no
        connection to the host is free.
        """
        connecting_s = CONNECT_TRIES * self.connect_timeout_s + self.connect_pause_s
        return connecting_s + self.response_timeout_s + WATCH_INTERVAL_S_MAX
