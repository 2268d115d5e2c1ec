"""What an import has to say beside its tables: a line each, each once, in the order of finding."""

from collections.abc import Callable

Say = Callable[[str], None]
"""Takes one line about what is not as the CPA has it, or is not in the tables."""


class Notes:
    """Collects lines. The same line about two actions is said once."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}

    def warn(self, text: str) -> None:
        """Something is other than the CPA says."""
        self._lines[f"warning: {text}"] = None

    def ignore(self, text: str) -> None:
        """Something of the CPA is not in the tables."""
        self._lines[f"ignored: {text}"] = None

    def tell(self, text: str) -> None:
        """Something that the operator has to do, or may look at."""
        self._lines[f"note: {text}"] = None

    @property
    def lines(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(self._lines)
