"""The calls about folders that files are sent from and messages are written to."""

from onceonly.api import folders as shapes
from onceonly.api.folder_operations import LIST_FOLDERS
from onceonly.api.operation import Nothing
from onceonly.gateway.api.answers import Answer, Json
from onceonly.gateway.api.served import Served
from onceonly.gateway.api.serving import Asked, serves


class FolderCalls:
    """The route /v1/folders, of the API that has it."""

    _served: Served

    @serves(LIST_FOLDERS)
    async def list_folders(
        self, asked: Asked[Nothing, Nothing, Nothing]
    ) -> Answer[shapes.FolderList]:
        """How the folders stand."""
        del asked
        return Json(self._served.outside.folders.list_shapes())
