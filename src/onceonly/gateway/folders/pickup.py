"""A pickup folder: every document that is put there is sent once, and its result written beside it.

Knows which document is which message; how a document is claimed on the disk is in `claims`. The
MessageId is chosen when the document is claimed, before anything is sent, and is in the durable
note of the claim. So a kill between any two steps leads to the same message again, which the
gateway already knows and does not send twice.
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from onceonly.api.decoding import decoded
from onceonly.api.folders import FileHeader, FileResult
from onceonly.gateway.api.answers import ascii_json
from onceonly.gateway.api.declared import from_members
from onceonly.gateway.api.reading import parsed
from onceonly.gateway.application.submissions import Part, Submission, Submissions
from onceonly.gateway.config import Pickup, Ready
from onceonly.gateway.desk import Desk
from onceonly.gateway.folders import claims, durable
from onceonly.gateway.folders.claims import Claim, Immovable, Unfit
from onceonly.gateway.folders.names import (
    content_type,
    documents,
    is_temporary,
    payload_name,
    written,
)
from onceonly.gateway.folders.watch import Trouble, Watch
from onceonly.gateway.shapes import instant, text_of
from onceonly.message.agreement import Agreement
from onceonly.message.errors import LocalError
from onceonly.message.instant import NS_PER_S
from onceonly.message.word import Word
from onceonly.protocol.outbound import OutboundStatus
from onceonly.store.contract.entries import OutboundView
from onceonly.store.spool import Sink, Spool

FOLLOW_S: Final = 1.0
"""Longest pause between two looks for verdicts."""

FOLLOW_EVERY: Final = 100
"""Documents that are taken between two looks for verdicts."""

ROWS_PER_READ: Final = 1000

NAMED_MAX: Final = 3
"""How many of the things that are left alone the folder's trouble names."""

_DELIVERED: Final = frozenset(
    {OutboundStatus.ACKNOWLEDGED, OutboundStatus.SENT, OutboundStatus.SETTLED_DELIVERED}
)


class _Followed(Word):
    """A claim whose message waits for its verdict, and the state that its result file has."""

    claim: Claim
    state: str | None


class PickupFolder(Watch):
    """One pickup folder."""

    def __init__(
        self, wanted: Pickup, *, desk: Desk, submissions: Submissions, spool: Spool, bytes_max: int
    ) -> None:
        super().__init__(folder_id=wanted.id, path=wanted.path, clock=desk.clock)
        self.wanted = wanted
        self._desk = desk
        self._submissions = submissions
        self._spool = spool
        self._bytes_max = bytes_max
        self._left: list[Claim] = []
        """Claimed, and not submitted yet."""
        self._followed: dict[str, list[_Followed]] = {}
        """By MessageId; two documents with one business key are one message."""
        self._strange: list[str] = []
        """What is below `sending` and was not made by us."""
        self._immovable: dict[str, tuple[Any, str]] = {}
        """Documents that cannot be claimed: how each looked then, and why."""
        self._seq = 0
        """Up to this row of the journal every verdict was seen."""
        self._seen: dict[str, tuple[Any, int]] = {}
        """With `settled`: how each document looked, and since when."""

    @property
    def under_way(self) -> int:
        """Documents that are ours and have no verdict."""
        return len(self._left) + sum(map(len, self._followed.values()))

    @property
    def unsent(self) -> int:
        """Those of them for which there is no message yet."""
        return len(self._left)

    async def work(self) -> None:
        """Send what is put there until the gateway stops; raises nothing of the file system."""
        await self.keep_working(self._watch)

    async def _watch(self) -> None:
        await self.begin()
        next_look, has_room = 0.0, True
        loop = asyncio.get_running_loop()
        while not self.is_stopped():
            if loop.time() >= next_look:
                has_room = await self.take()
                next_look = loop.time() + self.wanted.interval_s
            await self.follow()
            if has_room:
                self.note(self.left_alone())
            await self.pause(min(FOLLOW_S, max(0.0, next_look - loop.time())))

    async def begin(self) -> None:
        """Go on with what a stop, a kill or trouble left."""
        await self.thread.run(claims.prepare, self.path)
        self._seq = self._desk.snapshot().last_seq()
        self._followed.clear()
        self._immovable.clear()
        self._left, self._strange = await self.thread.run(_left_in, self.path)
        for claim in tuple(self._left):
            shown = await self.thread.run(_shown, claim)
            message_id = None if shown is None else shown.message_id
            if message_id is None and self._find(claim.note.message_id) is not None:
                message_id = claim.note.message_id
            if message_id is not None:
                await self._begin_to_follow(
                    message_id, _Followed(claim, None if shown is None else shown.state)
                )

    async def take(self) -> bool:
        """Take every document that is whole, in the order of names, after those that were left.

        False if one has to wait, as the queue is full.
        """
        while self._left and not self.is_stopped():
            if not await self._submit(self._left[0]):
                return False
        found = await self.thread.run(self._list_documents)
        self.waiting = len(found)
        for number, name in enumerate(found, 1):
            if self.is_stopped():
                break
            claim = await self._claim(name)
            if claim is None:
                continue
            self.waiting -= 1
            self._left.append(claim)
            if not await self._submit(claim):
                return False
            if number % FOLLOW_EVERY == 0:
                await self.follow()
        return True

    async def _claim(self, name: str) -> Claim | None:
        """Make the document ours; None if it is left where it is, which does not stop others."""
        ground = self._desk.ground()
        try:
            return await self.thread.run(
                claims.claim,
                self.path,
                name,
                ground.message_id("document"),
                ground.now.at,
                self._desk.failpoints.reach,
            )
        except Immovable as error:
            self._immovable[name] = (await self.thread.run(_rights, self.path, name), str(error))
            return None

    def left_alone(self) -> str | None:
        """What is not touched, and why; None if there is nothing."""
        found = [*self._strange, *(why for _, why in self._immovable.values())]
        if not found:
            return None
        more = f", and {len(found) - NAMED_MAX} more" if len(found) > NAMED_MAX else ""
        return f"left where it is: {'; '.join(found[:NAMED_MAX])}{more}"

    def _list_documents(self) -> list[str]:
        with os.scandir(self.path) as entries:
            names = frozenset(entry.name for entry in entries)
        # One that could not be claimed is tried again when its rights are others.
        self._immovable = {
            name: kept
            for name, kept in self._immovable.items()
            if name in names and kept[0] == _rights(self.path, name)
        }
        found = [
            name
            for name in documents(names, self.wanted.ready)
            if name not in self._immovable and self._is_whole(name)
        ]
        self._seen = {name: self._seen[name] for name in found if name in self._seen}
        if self.wanted.ready is Ready.SETTLED:
            return [name for name in found if self._is_settled(name)]
        return found

    def _is_whole(self, name: str) -> bool:
        """Whether nothing in it has a name that means that it is still being written."""
        path = self.path / name
        try:
            if path.is_symlink() or not path.is_dir():
                return os.path.lexists(path)
            return not any(is_temporary(one.name) for one in path.iterdir())
        except (FileNotFoundError, PermissionError):
            return True  # It is claimed, and its result says what is wrong with it.

    def _is_settled(self, name: str) -> bool:
        at = self._clock.now().monotonic_ns
        looks = _looks(self.path / name)
        then, since = self._seen.get(name, (None, at))
        self._seen[name] = (looks, since if looks == then else at)
        return looks == then and at - since >= self.wanted.settle_s * NS_PER_S

    async def _submit(self, claim: Claim) -> bool:
        """Submit a document; False if there is no room for it now, and it has to wait."""
        try:
            message_id = await self._submitted(claim)
        except Unfit as error:
            await self._refuse(claim, "UnfitFile", str(error))
        except LocalError as error:
            if error.name == "QueueFull":
                self.note(str(error))
                return False
            if self.is_stopped():
                # A reload may have taken the agreement away with the folder: the document stays as
                # it is for whoever works in the folder next.
                return False
            await self._refuse(claim, error.name, str(error))
        else:
            self._desk.failpoints.reach("after-take-in")
            await self._begin_to_follow(message_id, _Followed(claim, None))
        return True

    async def _submitted(self, claim: Claim) -> str:
        agreement = self._desk.house.agreement(self.wanted.agreement)
        header = await self.thread.run(_header_of, claim, agreement)
        service = header.service or self.wanted.service
        action = header.action or self.wanted.action
        if service is None or action is None:
            raise Unfit("neither its header nor the configuration says its service and action")
        sinks: list[Sink] = []
        try:
            parts = await self.thread.run(self._spooled, claim, sinks)
            receipt = await self._submissions.submit(
                Submission(
                    to=agreement.their_party,
                    service=service,
                    action=action,
                    parts=parts,
                    agreement_id=agreement.id,
                    # Under a key of its own a document is known by the key.
                    message_id=header.message_id or (None if header.key else claim.note.message_id),
                    idempotency_key=header.key,
                    conversation_id=header.conversation or self.wanted.conversation,
                    ref_to_message_id=header.ref,
                )
            )
        finally:
            for sink in sinks:
                sink.discard()
        return receipt.message_id

    def _spooled(self, claim: Claim, sinks: list[Sink]) -> list[Part]:
        """The files as payloads; blocks, so it runs in a thread. Raises `Unfit`."""
        parts: list[Part] = []
        room = self._bytes_max
        files = claims.files_of(claim)
        for path in files:
            sink = self._spool.open_sink()
            sinks.append(sink)
            counter = _Counter(sink.write, room, self.is_stopped)
            try:
                claims.read(claim, path, counter.take)
            except Unfit as error:
                raise Unfit(f"{written(path.name)}: {error}") from error
            room = counter.room
            kind = self.wanted.content_type or content_type(path.name)
            parts.append(Part(sink, kind, payload_name(path.name)))
        return parts

    async def _refuse(self, claim: Claim, error: str, reason: str) -> None:
        result = self._result(claim, None, "refused", error=error, reason=reason)
        await self.thread.run(_finish, self.path, claim, result, is_sent=False)
        self._left.remove(claim)
        self.count(is_done=False)

    async def _begin_to_follow(self, message_id: str, followed: _Followed) -> None:
        self._left.remove(followed.claim)
        self._followed.setdefault(message_id, []).append(followed)
        await self._show(message_id, followed)

    async def follow(self) -> None:
        """Look at the messages of which the journal has new rows."""
        while not self.is_stopped():
            rows = await asyncio.to_thread(
                lambda: self._desk.snapshot().list_journal(self._seq, ROWS_PER_READ)
            )
            if not rows:
                return
            for message_id in dict.fromkeys(row.message_id for row in rows):
                for followed in tuple(self._followed.get(message_id or "", ())):
                    await self._show(message_id or "", followed)
            self._seq = rows[-1].seq

    async def _show(self, message_id: str, followed: _Followed) -> None:
        """Write what the message's state is; if it is final, move the document.

        Until that is done the document is followed, so that it is counted somewhere all the time.
        """
        known_as, view = message_id, self._find(message_id)
        while view is not None and view.resent_as is not None:
            message_id = view.resent_as
            view = self._find(message_id)
        claim = followed.claim
        if view is None:
            result = self._result(claim, message_id, "forgotten")
            await self.thread.run(_finish, self.path, claim, result, is_sent=False)
            self._end_to_follow(known_as, followed)
            self.count(is_done=False)
            return
        state = view.state
        error = None if state.error_code is None else state.error_code.value
        result = self._result(
            claim, message_id, state.status.value, error=error, settled_at=view.settled_at
        )
        if state.status.is_final:
            is_sent = state.status in _DELIVERED
            await self.thread.run(durable.replace, claim.result, _as_json(result))
            self._desk.failpoints.reach("before-settle")
            await self.thread.run(claims.settle, self.path, claim, is_sent=is_sent)
            self._end_to_follow(known_as, followed)
            self.count(is_done=is_sent)
            return
        if state.status.value != followed.state:
            await self.thread.run(durable.replace, claim.result, _as_json(result))
        self._end_to_follow(known_as, followed)
        kept = _Followed(claim, state.status.value)
        self._followed.setdefault(message_id, []).append(kept)

    def _end_to_follow(self, message_id: str, followed: _Followed) -> None:
        others = [one for one in self._followed.pop(message_id) if one is not followed]
        if others:
            self._followed[message_id] = others

    def _find(self, message_id: str) -> OutboundView | None:
        return self._desk.snapshot().find_outbound_view(message_id)

    def _result(
        self,
        claim: Claim,
        message_id: str | None,
        state: str,
        *,
        error: str | None = None,
        reason: str | None = None,
        settled_at: int | None = None,
    ) -> FileResult:
        return FileResult(
            file=written(claim.name),
            message_id=message_id,
            state=state,
            error=error,
            reason=reason,
            claimed_at=text_of(claim.note.claimed_at),
            settled_at=instant(settled_at),
        )


class _Counter:
    """Passes bytes on until there are too many, or the gateway stops, which waits for nobody."""

    def __init__(
        self, write: Callable[[bytes], None], room: int, is_stopped: Callable[[], bool]
    ) -> None:
        self._write = write
        self._is_stopped = is_stopped
        self.room = room

    def take(self, chunk: bytes) -> None:
        self.room -= len(chunk)
        if self.room < 0:
            raise Unfit("the document has more bytes than payload_bytes_max")
        if self._is_stopped():
            raise Trouble("the gateway stops")
        self._write(chunk)


def _left_in(folder: Path) -> tuple[list[Claim], list[str]]:
    found, strange = claims.list_claims(folder)
    gathered = []
    for claim in found:
        try:
            claims.gather(folder, claim)
        except Immovable:
            continue  # It is where it was, and the next look finds it.
        gathered.append(claim)
    return gathered, strange


def _rights(folder: Path, name: str) -> Any:
    """What changes when somebody changes who may rename the document."""
    try:
        found, above = (folder / name).lstat(), folder.lstat()
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns, above.st_mode, above.st_uid, above.st_gid


def _shown(claim: Claim) -> FileResult | None:
    """The result file; it has a MessageId if a message is stored for the document."""
    try:
        return decoded(claim.result.read_bytes(), FileResult)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None  # A document that is known by its note needs no result to be the same message.


def _header_of(claim: Claim, agreement: Agreement) -> FileHeader:
    """The header that the document has of its own. Raises `Unfit` and `LocalError`."""
    content = claims.header_of(claim)
    if content is None:
        return FileHeader()
    try:
        members = parsed(content)
    except ValueError as error:
        raise Unfit(f"its header is no JSON: {error}") from error
    if not isinstance(members, dict):
        raise Unfit("its header is no JSON object")
    header: FileHeader = from_members(FileHeader, members)
    if header.agreement not in (None, agreement.id):
        raise Unfit(f"its header names another agreement than the folder, {agreement.id!r}")
    if header.to is not None and header.to not in map(str, agreement.their_ids):
        raise Unfit(f"its header names another partner than {agreement.their_party!r}")
    return header


def _looks(path: Path) -> Any:
    """What changes when a document is written to."""
    try:
        found = path.lstat()
        inside = sorted(path.iterdir()) if path.is_dir() and not path.is_symlink() else []
        each = [(one.name, one.lstat().st_size, one.lstat().st_mtime_ns) for one in inside]
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, each


def _as_json(result: FileResult) -> bytes:
    return ascii_json(result) + b"\n"


def _finish(folder: Path, claim: Claim, result: FileResult, *, is_sent: bool) -> None:
    durable.replace(claim.result, _as_json(result))
    claims.settle(folder, claim, is_sent=is_sent)
