"""Calls about the configuration that runs."""

from onceonly.api import configuration, upkeep
from onceonly.api.operation import Nothing
from onceonly.gateway.api.answers import Answer, Json
from onceonly.gateway.api.served import Served
from onceonly.gateway.api.serving import Asked, serves
from onceonly.gateway.shapes import text_of


class ReloadCalls:
    """What runs, and the call that reads the file again, of the API that has them."""

    _served: Served

    @serves(upkeep.GET_CONFIGURATION)
    async def get_configuration(
        self, asked: Asked[Nothing, Nothing, Nothing]
    ) -> Answer[configuration.RunningConfiguration]:
        """Which file runs, and since when."""
        del asked
        loaded, refused = self._served.reload.loaded, self._served.reload.refused
        running = loaded.configuration
        return Json(
            configuration.RunningConfiguration(
                path=str(running.path),
                digest=running.digest,
                loaded_at=text_of(loaded.at),
                loaded_by=loaded.by,
                agreements=len(running.agreements),
                routes=len(running.routes),
                refused=None
                if refused is None
                else configuration.RefusedFile(
                    at=text_of(refused.at), by=refused.by, reason=refused.reason
                ),
            )
        )

    @serves(upkeep.RELOAD)
    async def reload(
        self, asked: Asked[Nothing, Nothing, Nothing]
    ) -> Answer[configuration.Reloaded]:
        """Read the file again and take it over, or change nothing."""
        changed = await self._served.reload.reload(asked.actor)
        digest = self._served.reload.loaded.configuration.digest
        return Json(configuration.Reloaded(changed=changed, digest=digest))
