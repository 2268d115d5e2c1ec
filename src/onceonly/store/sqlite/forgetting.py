"""What a purge of the SQLite store would forget: the contract's `PreviewingSnapshot`.

The rows are found by the queries of the purge itself, so a preview cannot differ from it.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in forgetting.py

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onceonly.store.contract.forgetting import COUNTED_LEAST, COUNTED_MAX, FileSpace, Forgettable
from onceonly.store.sqlite.asking import SqliteQuestions


class SqlitePurgePreview(SqliteQuestions):
    """Reads about what is over, over one connection."""

    def preview_purge(
        self, before_at: int, settled_before_at: Mapping[str, int]
    ) -> Sequence[Forgettable]:
        found: list[Forgettable] = []
        for kind, query, measure, limits in _kinds(before_at, settled_before_at):
            left = COUNTED_MAX - sum(one.count for one in found)
            counted_max = max(left, COUNTED_LEAST)
            rows = self._list(query, *limits, counted_max + 1)
            counted = rows[:counted_max]
            if counted:
                oldest_at, size = self._measure(measure, counted)
                is_more = len(rows) > counted_max
                found.append(Forgettable(kind, len(counted), is_more, oldest_at, size or 0))
        return found

    def _measure(self, query: str | None, rows: Sequence[Any]) -> tuple[int | None, int | None]:
        if query is None:
            return min(row[-1] for row in rows), 0
        oldest_at, size = self._get(query, json.dumps([row[0] for row in rows]))
        return oldest_at, size

    def file_space(self) -> FileSpace:
        pages, free, size = self._get("get_file_space")
        return FileSpace(pages * size, free * size)


_Kind = tuple[str, str, str | None, tuple[int | str, ...]]
"""Its name, the purge's own query, the query that measures what that finds (None: its rows say it),
and the limits."""


def _kinds(before_at: int, settled_before_at: Mapping[str, int]) -> Iterator[_Kind]:
    yield "received", "list_finished_inbound", "measure_inbound", (before_at,)
    yield "tombstones", "list_finished_tombstones", None, (before_at,)
    yield "in transit", "list_finished_transits", "measure_transits", (before_at,)
    for agreement_id, settled_at in settled_before_at.items():
        limits = (agreement_id, settled_at)
        yield f"sent under {agreement_id}", "list_settled", "measure_outbound", limits
