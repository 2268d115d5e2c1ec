"""Which of our signing certificates a configuration has, by their fingerprints."""

import tomllib
from pathlib import Path

from onceonly.gateway.certificate_file import certificates_in
from onceonly.gateway.cpa.document import CpaError


def identities_in(configuration: Path) -> dict[str, str]:
    """The id of each `[[identity]]` by the fingerprint of its certificate; the file was checked.

    Raises `CpaError` for a certificate that cannot be read.
    """
    tables = tomllib.loads(configuration.read_text("utf-8")).get("identity", [])
    found: dict[str, str] = {}
    for table in tables:
        path = configuration.parent / table["certificate"]
        try:
            certificates = certificates_in(path)
        except OSError as error:
            raise CpaError(f"{path} cannot be read: {error.strerror}") from error
        if certificates:
            found[certificates[0].fingerprint] = table["id"]
    return found
