"""The figures of the documentation show what gateways do: each is recorded, none is drawn."""

import re
from pathlib import Path

import pytest
import runs_of_delivery  # noqa: F401 - because importing it fills SCENARIOS
import runs_of_recovery  # noqa: F401 - because importing it fills SCENARIOS
import runs_of_relays  # noqa: F401 - because importing it fills SCENARIOS
from recording import Recording, compared
from scenarios import SCENARIOS

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "docs" / "runs"


@pytest.mark.anyio
@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_run_goes_as_the_documentation_shows_it(name, tmp_path, is_recording):
    """The same steps in the same order; `pytest tests/docs --record` writes what is seen now."""
    title, profile, play = SCENARIOS[name]
    recording = Recording(title, profile)
    await play(recording, tmp_path)
    committed, seen = compared(RUNS / f"{name}.json", recording, is_recording=is_recording)
    assert committed == seen


def test_every_run_is_shown_and_every_figure_has_its_scenario():
    """No file of a run without its scenario, no scenario that no page shows."""
    pages = "".join(page.read_text("utf-8") for page in (ROOT / "docs").rglob("*.md"))
    shown = set(re.findall(r"```run\n([\w-]+)", pages))
    assert {path.stem for path in RUNS.glob("*.json")} == set(SCENARIOS) == shown


def test_no_run_has_anything_that_changes_from_run_to_run():
    """No address, no port, no instant, no random id."""
    text = "".join(path.read_text("utf-8") for path in RUNS.glob("*.json"))
    assert not re.search(r"127\.0\.0\.1|https?:|urn:|@|\b20\d\d-|\d{6}", text)
