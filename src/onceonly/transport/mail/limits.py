"""The bounds of the SMTP transport, each with its reason.

Knows numbers only. The times of RFC 5321 §4.5.3.2 are meant for the open mail system of 1982; a
gateway talks to a relay of its own house, and its own retries make up for what is cut early.
Threats M1, M8 and M9 are what the sizes are against.
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
"""Lines are handed on together: one by one would cost a wake-up per 78 bytes."""

DISCARD_BYTES_MAX = 4 * MIB
"""Read over after a refusal, so that the sender gets to its final dot and reads the answer;
whoever goes on beyond that is cut off (M8)."""

MAIL_SHARE = 1.4
"""Bytes of mail per byte of package: base64 in lines of 76 is 1.37, and there are part headers."""

WAITS_S: tuple[float, ...] = (1.0, 10.0, 60.0)
"""Before each further try within one transmission: a relay that restarts, one that is busy, and one
that greylists for a minute. What lasts longer is left to the retries of the agreement, whose
waits begin when the transmission ends."""


class SmtpLimits(Word):
    """Of the endpoint. Times in seconds."""

    mail_bytes_max: int = 1456 * MIB
    """Announced as SIZE: what 1040 MiB of package are in base64."""
    command_timeout_s: float = 300.0
    """Between two commands (RFC 5321 §4.5.3.2.7); also for our own gateway to take a mail."""
    data_grace_s: float = 30.0
    """A mail may fall behind the least rate by so much."""
    data_rate_min: int = 1000
    """Bytes per second over any stretch of the mail, not counting times when we read nothing."""
    connections_max: int = 256
    """All together. Senders queue: a mail that finds no place comes again."""
    connections_per_address_max: int = 64
    """From one address; a mail server before us, which all partners' mail passes, has fewer."""
    auth_tries_max: int = 3
    """AUTH commands per connection, against guessing."""
    commands_max: int = 10_000
    """Of one kind per connection; a relay may bring that many mails before it connects again."""
    backlog: int = 128
    """Connections that the kernel holds until we accept them."""


class SmtpClientLimits(Word):
    """Of the sender. Times in seconds."""

    connect_timeout_s: float = 10.0
    """TCP, implicit TLS and the greeting, each."""
    command_timeout_s: float = 60.0
    """For the answer to a command before the mail, and for STARTTLS."""
    write_timeout_s: float = 60.0
    """Without any progress while the mail is being sent."""
    answer_timeout_s: float = 120.0
    """From the final dot to its answer. RFC 5321 asks for ten minutes, since giving up early
    makes duplicates; ours are dropped by their MessageId (R-01), so a stuck relay is not worth
    the wait."""
    quit_timeout_s: float = 2.0
    """For the answer to QUIT, which changes nothing any more."""
    total_s: float = 300.0
    """Of one conversation, beside what its size is worth at `rate_min`."""
    rate_min: int = 10_000
    """Bytes per second; see `total_s`."""
    conversations_max: int = 16
    """Connections to the relay at once; what is above the usual limit of a relay per client
    would only be refused there."""
    waiters_max: int = 4096
    """Mails that wait for a conversation; beyond that they are refused at once."""

    @property
    def slow_s(self) -> float:
        """Longest that one transmission takes with a relay that answers as late as it may.

        Not in it: the time in which the bytes of a large mail leave, and the wait for one of
        `conversations_max`.
        """
        conversations_s = (len(WAITS_S) + 1) * (self.total_s + self.quit_timeout_s)
        return conversations_s + sum(WAITS_S)
