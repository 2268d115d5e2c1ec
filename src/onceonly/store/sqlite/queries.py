"""The statements of the SQLite store, by their names in `sql/queries.sql`.

Knows the file's form, `-- name: NAME` above each statement; must not know what any of them does.
"""

from importlib.resources import files

SQL_FILES = files("onceonly.store.sqlite") / "sql"
_MARK = "-- name: "


def parse_queries(text: str) -> dict[str, str]:
    """Statements of `text` by name; what comes before the first name is a comment.

    Raises `ValueError` for a name that comes twice.
    """
    queries: dict[str, str] = {}
    for block in ("\n" + text).split("\n" + _MARK)[1:]:
        name, _, statement = block.partition("\n")
        if name in queries:
            raise ValueError(f"two queries are named {name}")
        queries[name] = statement.strip()
    return queries


SQL = parse_queries((SQL_FILES / "queries.sql").read_text(encoding="utf-8"))
