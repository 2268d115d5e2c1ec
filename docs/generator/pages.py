"""Which reference pages there are, and who makes each."""

from collections.abc import Callable

from generator import (
    api_page,
    command_pages,
    configuration_page,
    interop_page,
    journal_page,
    lake_page,
    states_page,
)

PAGES: dict[str, Callable[[], str]] = {
    "reference/configuration.md": configuration_page.page,
    "reference/command-line.md": command_pages.command_line,
    "reference/exit-codes.md": command_pages.exit_codes,
    "reference/api.md": api_page.page,
    "reference/errors.md": api_page.errors,
    "reference/states.md": states_page.page,
    "reference/journal.md": journal_page.page,
    "reference/lake.md": lake_page.page,
    "reference/interop.md": interop_page.page,
}
"""Path in the site, and the function that makes the page's Markdown from the code."""
