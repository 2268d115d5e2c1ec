"""The call about folders."""

from typing import Final

from onceonly.api import folders
from onceonly.api.operation import Nothing, Operation

LIST_FOLDERS: Final = Operation(
    name="listFolders",
    method="get",
    path="/v1/folders",
    summary="Folders that files are sent from and messages are written to, and how they stand",
    path_type=Nothing,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=folders.FolderList,
)
