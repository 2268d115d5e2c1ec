"""All folders of one gateway: started after it is ready, stopped when it drains."""

from collections.abc import Callable, Sequence
from functools import partial

from onceonly.api import folders as shapes
from onceonly.gateway.bugs import Bugs
from onceonly.gateway.config import Drop
from onceonly.gateway.folders.drop import DropFolder, fits
from onceonly.gateway.folders.pickup import PickupFolder
from onceonly.gateway.folders.watch import RETRY_S
from onceonly.gateway.shapes import instant
from onceonly.gateway.tasks import Tasks
from onceonly.store.contract.entries import InboxItem

PLACE = "working in a folder"


class Folders:
    """The pickup and drop folders, each with a task of its own."""

    def __init__(
        self,
        pickups: Sequence[PickupFolder],
        drops: Sequence[DropFolder],
        *,
        tasks: Tasks,
        bugs: Bugs,
    ) -> None:
        self._all: tuple[PickupFolder | DropFolder, ...] = (*pickups, *drops)
        self._tasks = tasks
        self._bugs = bugs

    def start(self) -> None:
        """Begin to work in every folder."""
        for folder in self._all:
            self._tasks.start(self._work(folder), place=PLACE)

    def stop(self) -> None:
        """Take nothing more; the step that is under way ends."""
        for folder in self._all:
            folder.stop()

    async def _work(self, folder: PickupFolder | DropFolder) -> None:
        try:
            while not folder.is_stopped():
                await self._bugs.contain(PLACE, folder.work(), partial(_rest, folder))
        finally:
            folder.thread.close()

    def list_shapes(self) -> shapes.FolderList:
        """How every folder stands."""
        return shapes.FolderList(folders=tuple(map(_shape, self._all)))


async def _rest(folder: PickupFolder | DropFolder, bug: Exception) -> None:
    folder.note(f"a bug of onceonly: {type(bug).__name__}")
    await folder.pause(RETRY_S)


def _shape(folder: PickupFolder | DropFolder) -> shapes.Folder:
    return shapes.Folder(
        id=folder.id,
        kind="pickup" if isinstance(folder, PickupFolder) else "drop",
        path=str(folder.path),
        waiting=folder.waiting,
        under_way=folder.under_way,
        done=folder.done,
        failed=folder.failed,
        last_at=instant(folder.last_at),
        trouble=folder.trouble,
    )


def owner_of(drops: Sequence[Drop], drop: Drop) -> Callable[[InboxItem], bool]:
    """Whether an item goes to `drop`: the first folder, in the order of the file, that it fits."""
    return lambda item: next((one for one in drops if fits(item, one)), None) is drop
