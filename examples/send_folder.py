"""Send each XML file of a folder to a partner once; end with 0 if all are acknowledged.

    python examples/send_folder.py http://127.0.0.1:8411 urn:duns:222222222 outgoing

After a failure run it again: a file's name is its business key, so nothing is sent twice.
"""

import sys
import time
from contextlib import suppress
from pathlib import Path

from onceonly.client import Client, Document, GatewayUnreachable


def send(gateway: Client, to: str, file: Path) -> str:
    """The MessageId. The gateway may be restarting; the key makes it safe to ask again."""
    order, key = Document.from_file(file), file.name
    while True:
        with suppress(GatewayUnreachable):
            said = gateway.submit([order], to=to, service="Ordering", action="NewOrder", key=key)
            return said.message_id
        time.sleep(1)


def main(api: str, partner: str, folder: str) -> int:
    """Send all, then wait for each."""
    states = set()
    with Client(api) as gateway:
        sent = {file: send(gateway, partner, file) for file in sorted(Path(folder).glob("*.xml"))}
        for file, message_id in sent.items():
            while (state := gateway.get(message_id).state) in ("queued", "sending"):
                time.sleep(0.2)
            print(file.name, message_id, state)
            states.add(state)
    return 0 if states <= {"acknowledged"} else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
