"""The samples that came with the task: those of our profiles are explained, others are named."""

from pathlib import Path

import pytest
from captures import explained

from onceonly.explain.explanation import CaptureVerdict

SHARED = Path(__file__).parents[3] / "shared"
EXAMPLES, SAMPLES = SHARED / "spec" / "examples", SHARED / "samples"

pytestmark = pytest.mark.skipif(
    not EXAMPLES.is_dir(), reason="the specification's examples are not beside this clone"
)


def files(folder: Path, *suffixes: str) -> list[Path]:
    return [file for file in sorted(folder.rglob("*")) if file.suffix in suffixes]


@pytest.mark.parametrize("folder", ["seed0", "seed1"])
def test_what_is_of_our_profiles_is_understood(folder, configuration):
    """Every request, answer, mail and bare document, with and without a gateway."""
    found = files(EXAMPLES / folder, ".http", ".eml", ".xml")
    assert found
    for file in found:
        assert explained(file.read_bytes()).verdict is CaptureVerdict.UNDERSTOOD, file
        said = explained(file.read_bytes(), configuration)
        assert said.verdict in (
            CaptureVerdict.UNDERSTOOD,
            CaptureVerdict.ACCEPTED,
            CaptureVerdict.REFUSED,
        ), file


def test_what_is_of_another_ebms_is_named():
    """With the namespace that gives it away; an answer without a package is an answer."""
    for file in files(EXAMPLES / "ebms1", ".http", ".eml", ".xml"):
        found = explained(file.read_bytes())
        if found.parts:
            assert found.verdict is CaptureVerdict.NOT_OURS, file
            assert found.foreign is not None
            assert found.foreign.name.startswith(("ebMS", "SOAP")), file


def test_what_is_wrong_in_ebms_2_is_refused():
    """Except mustUnderstand "true", which is written by nobody and read by us."""
    for file in files(EXAMPLES / "invalid", ".xml"):
        found = explained(file.read_bytes())
        is_read = file.name == "07-mustunderstand-true.xml"
        verdict = CaptureVerdict.UNDERSTOOD if is_read else CaptureVerdict.REFUSED
        assert found.verdict is verdict or found.foreign is not None, file


def test_what_products_sent_is_named_or_said_to_be_unknown(configuration):
    """Templates and bare bodies without a type among them; under no agreement of ours."""
    for file in files(SAMPLES, ".xml", ".msg", ".ebxml"):
        found = explained(file.read_bytes(), configuration)
        is_signal = found.message is not None and found.message.type != "Normal"
        # A signal about nothing is taken, and dropped.
        assert is_signal or found.verdict is not CaptureVerdict.ACCEPTED, file
