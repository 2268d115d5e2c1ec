"""What a gateway does with files and other programs by itself: its folders and its webhooks."""

from dataclasses import dataclass

from onceonly.gateway.folders.folders import Folders
from onceonly.gateway.webhooks.webhooks import Webhooks


@dataclass(frozen=True, slots=True)
class Outside:
    """Both, which begin when the gateway is ready and take nothing more when it stops."""

    folders: Folders
    webhooks: Webhooks

    def start(self) -> None:
        """Begin to work in folders and to tell webhooks."""
        self.folders.start()
        self.webhooks.start()

    def stop(self) -> None:
        """Begin nothing more; the step that is under way ends."""
        self.folders.stop()
        self.webhooks.stop()
