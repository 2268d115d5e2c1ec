"""Calls about what the gateway forgets."""

from onceonly.api import purge as api
from onceonly.api import upkeep
from onceonly.api.operation import Nothing
from onceonly.gateway.api.answers import Answer, Json
from onceonly.gateway.api.served import Served
from onceonly.gateway.api.serving import Asked, serves
from onceonly.gateway.shapes import instant, text_of
from onceonly.message.errors import LocalError
from onceonly.store.contract.forgetting import PreviewingSnapshot


class PurgeCalls:
    """The routes under /v1/purge, of the API that has them."""

    _served: Served

    @serves(upkeep.PREVIEW_PURGE)
    def preview_purge(self, asked: Asked[Nothing, Nothing, Nothing]) -> Answer[api.PurgePreview]:
        """What is over, counted beside the load."""
        del asked
        snapshot = self._served.store.snapshot()
        if not isinstance(snapshot, PreviewingSnapshot):
            raise LocalError("NotOffered", "this gateway's store cannot say what is over")
        found, space = snapshot.preview_purge(*self._served.purge.limits()), snapshot.file_space()
        last = self._served.purge.last
        return Json(
            api.PurgePreview(
                forgettable=tuple(
                    api.Forgettable(
                        kind=one.kind,
                        count=one.count,
                        is_more=one.is_more,
                        oldest_at=instant(one.oldest_at),
                        bytes=one.bytes,
                    )
                    for one in found
                ),
                store_bytes=space.bytes,
                free_bytes=space.free_bytes,
                is_running=self._served.purge.is_running,
                last=None
                if last is None
                else api.PurgeDone(
                    at=text_of(last.at),
                    inbound=last.forgotten.inbound,
                    outbound=last.forgotten.outbound,
                    pairs=last.forgotten.pairs,
                    jobs=last.forgotten.jobs,
                    files=last.forgotten.files,
                ),
            )
        )

    @serves(upkeep.START_PURGE)
    async def start_purge(self, asked: Asked[Nothing, Nothing, Nothing]) -> Answer[api.PurgeBegun]:
        """Begin one, beside everything else; one that runs is enough."""
        del asked
        is_new = not self._served.purge.is_running
        if is_new:
            self._served.tasks.start(self._served.purge.sweep(), place="purging")
        return Json(api.PurgeBegun(is_new=is_new), status_code=202)
