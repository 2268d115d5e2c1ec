"""All folders of one gateway: started after it is ready, stopped when it drains."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from onceonly.api import folders as shapes
from onceonly.gateway.application.submissions import Submissions
from onceonly.gateway.bugs import Bugs
from onceonly.gateway.change import Change
from onceonly.gateway.config import Drop, Pickup
from onceonly.gateway.desk import Desk
from onceonly.gateway.folders.drop import DropFolder, fits
from onceonly.gateway.folders.pickup import PickupFolder
from onceonly.gateway.folders.watch import RETRY_S
from onceonly.gateway.shapes import instant
from onceonly.gateway.tasks import Tasks
from onceonly.store.contract.entries import InboxItem
from onceonly.store.spool import Spool

PLACE = "working in a folder"


class Folders:
    """The pickup and drop folders, each with a task of its own."""

    def __init__(  # noqa: PLR0913 - because it makes the folders, also those of a reload
        self,
        pickups: Sequence[Pickup],
        drops: Sequence[Drop],
        *,
        desk: Desk,
        submissions: Submissions,
        spool: Spool,
        bytes_max: int,
        tasks: Tasks,
        bugs: Bugs,
    ) -> None:
        self._desk = desk
        self._submissions = submissions
        self._spool = spool
        self._bytes_max = bytes_max
        self._tasks = tasks
        self._bugs = bugs
        self._pickups = [self._pickup(one) for one in pickups]
        self._drops = self._all_drops(drops)
        self._leaving: set[PickupFolder | DropFolder] = set()
        """Those that a reload took away, while the step that was under way goes on."""
        self._is_working = False

    def _pickup(self, wanted: Pickup) -> PickupFolder:
        return PickupFolder(
            wanted,
            desk=self._desk,
            submissions=self._submissions,
            spool=self._spool,
            bytes_max=self._bytes_max,
        )

    def _all_drops(self, wanted: Sequence[Drop]) -> list[DropFolder]:
        return [
            DropFolder(one, desk=self._desk, spool=self._spool, is_ours=owner_of(wanted, one))
            for one in wanted
        ]

    @property
    def _all(self) -> tuple[PickupFolder | DropFolder, ...]:
        return (*self._pickups, *self._drops)

    def start(self) -> None:
        """Begin to work in every folder."""
        self._is_working = True
        for folder in self._all:
            self._tasks.start(self._work(folder), place=PLACE)

    def stop(self) -> None:
        """Take nothing more; the step that is under way ends."""
        self._is_working = False
        for folder in self._all:
            folder.stop()

    def prepare(self, pickups: Sequence[Pickup], drops: Sequence[Drop]) -> Change:
        """Make others of these ready.

        Whose turn a message is depends on all drop folders together, so they all are exchanged
        where one changes.
        """
        known = {one.wanted.id: one for one in self._pickups}
        wanted = [
            known[one.id] if one.id in known and known[one.id].wanted == one else self._pickup(one)
            for one in pickups
        ]
        is_same = list(drops) == [one.wanted for one in self._drops]
        paths = {one.path.resolve() for one in pickups}
        left = [one for one in self._pickups if one.under_way and one.path.resolve() not in paths]
        return Change(
            partial(self._take, wanted, self._drops if is_same else self._all_drops(drops)),
            tuple(f"[[pickup]] {one.id} leaves in its `sending` {_left_by(one)}" for one in left),
        )

    def _take(self, pickups: list[PickupFolder], drops: list[DropFolder]) -> None:
        former = self._all
        self._pickups, self._drops = pickups, drops
        now = self._all
        for folder in former:
            if folder not in now:
                folder.stop()
                if self._is_working:
                    self._leaving.add(folder)
        for folder in now:
            if folder not in former and self._is_working:
                before = [one for one in self._leaving if _comes_before(one, folder)]
                self._tasks.start(self._work(folder, before), place=PLACE)

    async def _work(
        self,
        folder: PickupFolder | DropFolder,
        before: Sequence[PickupFolder | DropFolder] = (),
    ) -> None:
        try:
            for one in before:
                await _await_end(folder, one)
            while not folder.is_stopped():
                await self._bugs.contain(PLACE, folder.work(), partial(_rest, folder))
        finally:
            folder.thread.close()
            folder.ended.set()
            self._leaving.discard(folder)

    def list_shapes(self) -> shapes.FolderList:
        """How every folder stands."""
        return shapes.FolderList(folders=tuple(map(_shape, self._all)))


def _left_by(folder: PickupFolder) -> str:
    followed = folder.under_way - folder.unsent
    words = []
    if followed:
        words.append(f"{_documents(followed)} whose results nobody writes")
    if folder.unsent:
        kind = folder.unsent if followed else _documents(folder.unsent)
        words.append(f"{kind} that {'is' if folder.unsent == 1 else 'are'} not sent")
    return ", and ".join(words)


def _documents(count: int) -> str:
    return "1 document" if count == 1 else f"{count} documents"


async def _rest(folder: PickupFolder | DropFolder, bug: Exception) -> None:
    folder.note(f"a bug of onceonly: {type(bug).__name__}")
    await folder.pause(RETRY_S)


def _comes_before(former: PickupFolder | DropFolder, folder: PickupFolder | DropFolder) -> bool:
    """Whether the former one's last step has to end before anything is done in the folder.

    Both would work in one place, or write one message.
    """
    if isinstance(former, DropFolder) and isinstance(folder, DropFolder):
        return True
    return former.path.resolve() == folder.path.resolve()


async def _await_end(folder: PickupFolder | DropFolder, former: PickupFolder | DropFolder) -> None:
    try:
        async with asyncio.timeout(RETRY_S):
            await former.ended.wait()
    except TimeoutError:
        folder.note(f"a reload took {former.id!r} away, whose last step has not ended yet")
        await former.ended.wait()
        folder.note(None)


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
