"""The command line: the same calls as the API, for people and scripts.

Data goes to stdout, messages go to stderr. Nothing here decides anything; importing it is quick and
brings in neither Spark nor the gateway.
"""

from onceonly.cli.main import main

__all__ = ["main"]
