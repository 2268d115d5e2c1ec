"""A CPA 2.0 read into tables of the configuration (`onceonly agreement import`).

`document` reads the XML, `model` has what is read as values, `reading` makes them, `pairing` finds
who sends what to whom by which channels, `terms` what these channels agree, `addresses` where
things go, `security` reads certificates, `tables` puts that together, `toml` writes it, `importing`
is the whole, and `weaker` compares it with what is in force. Nothing here changes a gateway that
runs.
"""

from onceonly.gateway.cpa.document import CpaError
from onceonly.gateway.cpa.importing import Imported, import_cpa
from onceonly.gateway.cpa.tables import Wishes

__all__ = ["CpaError", "Imported", "Wishes", "import_cpa"]
