"""The bounds of the SMTP transport, each with its reason.

Knows numbers only. The times of RFC 5321 §4.5.3.2 are meant for the open mail system of 1982; a
gateway talks to a relay of its own company, and its retries repeat what was broken off early. The
sizes are against threats M1, M8 and M9.
"""

from onceonly.message.word import Word
from onceonly.transport.http.limits import KIB, MIB

LINE_MAX = 998
"""Characters in a line of a mail without its CRLF (RFC 5322 §2.1.1)."""

COMMAND_MAX = 512
"""A command line with its CRLF (RFC 5321 §4.5.3.1.4)."""

HEAD_BYTES_MAX = 64 * KIB
"""The header block of a mail that comes in. Each relay adds a few hundred bytes, a signature of
the sending domain a few thousand."""

RECEIVED_MAX = 100
"""Relays that a mail has passed; more is a loop (RFC 5321 §6.3)."""

BATCH_BYTES = 32 * KIB
"""Lines are passed on together: one by one they would cost a wake-up per 78 bytes."""

DISCARD_BYTES_MAX = 4 * MIB
"""Skipped after a refusal, so that the sender gets to its final dot and reads the answer; if it
sends more, the connection is closed (M8)."""

MAIL_SHARE = 1.4
"""Bytes of mail per byte of package: base64 in lines of 76 is 1.37, and there are part headers."""

WAITS_S: tuple[float, ...] = (1.0, 10.0, 60.0)
"""Waits before each further try within one transmission: for a relay that restarts, one that is
busy, and one that greylists for a minute. Longer failures are left to the retries of the agreement,
whose waits begin when the transmission ends."""


class SmtpLimits(Word):
    """Limits of the endpoint. Times in seconds."""

    mail_bytes_max: int = 1456 * MIB
    """Announced as SIZE: the length of a package of 1040 MiB in base64."""
    command_timeout_s: float = 300.0
    """Between two commands (RFC 5321 §4.5.3.2.7); also for our own gateway to take a mail."""
    data_grace_s: float = 30.0
    """How late a mail may be, measured by the least rate."""
    data_rate_min: int = 1000
    """Bytes per second over any stretch of the mail, not counting times when we read nothing."""
    connections_max: int = 256
    """All together. Mail systems keep a mail that finds no free connection, and try again."""
    connections_per_address_max: int = 64
    """From one address; a mail server in front of us, which all mail passes, opens fewer."""
    auth_tries_max: int = 3
    """AUTH commands per connection, against guessing."""
    commands_max: int = 10_000
    """Of one kind per connection; a relay can bring so many mails before it must connect again."""
    backlog: int = 128
    """Connections that the kernel holds until we accept them."""


class SmtpClientLimits(Word):
    """Limits of the sender. Times in seconds."""

    connect_timeout_s: float = 10.0
    """TCP, implicit TLS and the greeting, each."""
    command_timeout_s: float = 60.0
    """For the answer to a command before the mail, and for STARTTLS."""
    write_timeout_s: float = 60.0
    """How long no byte of the mail can be written."""
    answer_timeout_s: float = 120.0
    """From the final dot to its answer. RFC 5321 asks for ten minutes, since giving up early
    makes duplicates; ours are dropped by their MessageId (R-01), so a stuck relay is not worth
    the wait."""
    quit_timeout_s: float = 2.0
    """For the answer to QUIT, which no longer matters."""
    total_s: float = 300.0
    """One conversation, in addition to the time for its size at `rate_min`."""
    rate_min: int = 10_000
    """Bytes per second; see `total_s`."""
    conversations_max: int = 16
    """Connections to the relay at once; what is above the usual limit of a relay per client
    would only be refused there."""
    waiters_max: int = 4096
    """Mails that wait for a conversation; beyond that they are refused at once."""

    @property
    def slow_s(self) -> float:
        """Longest time of one transmission with a relay that answers as late as it may.

        It does not include the time to send a large mail, nor the wait for one of
        `conversations_max`.
        """
        conversations_s = (len(WAITS_S) + 1) * (self.total_s + self.quit_timeout_s)
        return conversations_s + sum(WAITS_S)
