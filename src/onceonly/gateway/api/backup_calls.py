"""Calls about backups of the store."""

from onceonly.api import backups, operations
from onceonly.api.backups import BackupPath, StartBackup
from onceonly.api.operation import Nothing
from onceonly.gateway import shapes
from onceonly.gateway.api.answers import Answer, Json
from onceonly.gateway.api.served import Served
from onceonly.gateway.api.serving import Asked, serves


class BackupCalls:
    """The routes under /v1/backups, of the API that has them."""

    _served: Served

    @serves(operations.START_BACKUP)
    async def start_backup(
        self, asked: Asked[Nothing, Nothing, StartBackup]
    ) -> Answer[backups.Backup]:
        """Begin one; it is made beside everything else."""
        begun = self._served.backups.start(asked.body.name)
        return Json(shapes.backup_shape(begun), status_code=202)

    @serves(operations.GET_BACKUP)
    async def get_backup(
        self, asked: Asked[BackupPath, Nothing, Nothing]
    ) -> Answer[backups.Backup]:
        """How far it is, or what became of it."""
        return Json(shapes.backup_shape(self._served.backups.find(asked.path.name)))

    @serves(operations.LIST_BACKUPS)
    async def list_backups(
        self, asked: Asked[Nothing, Nothing, Nothing]
    ) -> Answer[backups.BackupList]:
        """All that were begun since the start."""
        del asked
        known = map(shapes.backup_shape, self._served.backups.list_known())
        return Json(backups.BackupList(backups=tuple(known)))
