"""What a purge of the SQLite store would forget: the contract's `PreviewingSnapshot`.

The rows are found by the queries of the purge itself, so a preview cannot differ from it.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in forgetting.py

import json
from collections.abc import Mapping, Sequence

from onceonly.store.contract.forgetting import COUNTED_MAX, FileSpace, Forgettable
from onceonly.store.sqlite.asking import SqliteQuestions


class SqlitePurgePreview(SqliteQuestions):
    """Reads about what is over, over one connection."""

    def preview_purge(
        self, before_at: int, settled_before_at: Mapping[str, int]
    ) -> Sequence[Forgettable]:
        found = [
            self._preview("received", "list_finished_inbound", "measure_inbound", (before_at,)),
            self._tombstones(before_at),
            self._preview("in transit", "list_finished_transits", "measure_transits", (before_at,)),
        ]
        for agreement_id, settled_at in settled_before_at.items():
            limits = (agreement_id, settled_at)
            kind = f"sent under {agreement_id}"
            found.append(self._preview(kind, "list_settled", "measure_outbound", limits))
        return [one for one in found if one.count]

    def _preview(
        self, kind: str, query: str, measure: str, limits: tuple[int | str, ...]
    ) -> Forgettable:
        rows = self._list(query, *limits, COUNTED_MAX + 1)
        counted = rows[:COUNTED_MAX]
        positions = json.dumps([row[0] for row in counted])
        oldest_at, size = self._get(measure, positions) if counted else (None, 0)
        return Forgettable(kind, len(counted), len(rows) > COUNTED_MAX, oldest_at, size or 0)

    def _tombstones(self, before_at: int) -> Forgettable:
        rows = self._list("list_finished_tombstones", before_at, COUNTED_MAX + 1)
        counted = rows[:COUNTED_MAX]
        oldest_at = min((row[-1] for row in counted), default=None)
        return Forgettable("tombstones", len(counted), len(rows) > COUNTED_MAX, oldest_at, 0)

    def file_space(self) -> FileSpace:
        pages, free, size = self._get("get_file_space")
        return FileSpace(pages * size, free * size)
