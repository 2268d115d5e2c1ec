"""The calls about folders that files are sent from and messages are written to."""

from onceonly.api import folders as shapes
from onceonly.api.folder_operations import LIST_FOLDERS
from onceonly.api.operation import Nothing
from onceonly.gateway.api.answers import Answer, Json
from onceonly.gateway.api.serving import Asked, serves
from onceonly.gateway.outside import Outside


class FolderCalls:
    """The route /v1/folders, of the API that has it."""

    _outside: Outside

    @serves(LIST_FOLDERS)
    async def list_folders(
        self, asked: Asked[Nothing, Nothing, Nothing]
    ) -> Answer[shapes.FolderList]:
        """How the folders stand."""
        del asked
        return Json(self._outside.folders.list_shapes())
