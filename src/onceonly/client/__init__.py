"""A small client of the application API: what the command line, Spark and tests use.

It knows HTTP and the API's declared types (`onceonly.api`), nothing of the gateway's inside. A
member that a newer gateway has beside those of this version is left out.
"""

from onceonly.client.call import GatewayUnreachable
from onceonly.client.client import Client, End
from onceonly.client.tls import client_tls
from onceonly.documents import Document

__all__ = ["Client", "Document", "End", "GatewayUnreachable", "client_tls"]
