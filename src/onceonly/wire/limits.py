"""How much a peer may send before we stop reading. Attacks P1-P10 and X4-X6."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Limits:
    """The limits. Above a limit a `RemoteError` (MessageTooLarge) is raised."""

    package_bytes_max: int = (1 << 30) + (1 << 24)
    """A payload of 1 GiB, and the frame; the gateway sets what its configuration allows."""
    header_bytes_max: int = 1 << 20
    """Real headers have 1-3 KB; 1 MiB still parses within milliseconds (attack X6)."""
    parts_max: int = 100
    """Header and payloads together (attack P1)."""
    part_head_bytes_max: int = 1 << 14
    """Header fields of one part, and the Content-Type of the package."""
    parameters_max: int = 64
    """Parameters of one Content-Type (attacks P3 and H26)."""
    elements_max: int = 10_000
    """As many comments and CDATA sections besides."""
    depth_max: int = 64
    attributes_max: int = 64
    """Per element."""
    namespaces_max: int = 64
    """Namespace declarations in the document."""
    namespace_bytes_max: int = 256
    """Of one name of a namespace. A parser writes it again for each element and attribute in it."""
    routing_headers_max: int = 16
    """Hops; a longer way is a loop."""
    party_ids_max: int = 16
    """Names of one party."""
    errors_max: int = 100
    """Entries of one ErrorList."""


DEFAULT: Final = Limits()
