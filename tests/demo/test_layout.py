"""The demonstration clears only what is its own, and refuses what it cannot do."""

import json
import os
import stat
import tomllib

import pytest

from onceonly.demo.gateways import configuration, free_ports
from onceonly.demo.layout import prepare, tidy
from onceonly.demo.options import DemoOptions
from onceonly.demo.signers import make_signers
from onceonly.gateway.checkup import problems_of
from onceonly.gateway.config import read_configuration
from onceonly.gateway.identities import read_identities
from onceonly.message.errors import LocalError
from onceonly.message.message import AckRequested
from onceonly.message.profile import Profile
from onceonly.store.lock import StoreLock


def test_a_second_demonstration_replaces_the_first(tmp_path):
    """Results, lakes and stores of the last time are gone; other files stay."""
    options = DemoOptions(out=tmp_path / "demo")
    layout, buyer, _ = prepare(options)
    for file in (layout.html, layout.json, buyer.configuration, buyer.lake / "x"):
        file.write_text("old")
    (layout.out / "notes.txt").write_text("mine")
    layout, buyer, seller = prepare(options)
    assert sorted(path.name for path in layout.out.iterdir() if not path.name.startswith(".")) == [
        "buyer",
        "lake",
        "notes.txt",
        "seller",
    ]
    assert not any(buyer.directory.iterdir())
    tidy(buyer, seller)
    assert not buyer.directory.exists()
    assert buyer.lake.exists()


def test_a_gateway_that_was_left_behind_is_named(tmp_path):
    """It would publish the journal of a store that is gone into the next demonstration's lake."""
    options = DemoOptions(out=tmp_path / "demo")
    layout, buyer, _ = prepare(options)
    layout.html.write_text("old")
    held = StoreLock(buyer.directory / "gateway.db.lock")
    with pytest.raises(LocalError, match=f"in use by process {os.getpid()}.*choose another --out"):
        prepare(options)
    assert layout.html.exists()
    held.release()
    prepare(options)
    assert not layout.html.exists()


def test_a_directory_with_foreign_files_is_left_alone(tmp_path):
    """Someone's own `lake` must not be removed because of its name."""
    (tmp_path / "lake").mkdir()
    with pytest.raises(LocalError) as refusal:
        prepare(DemoOptions(out=tmp_path))
    assert refusal.value.name == "BadOption"
    assert (tmp_path / "lake").exists()


@pytest.mark.parametrize(("out", "documents"), [("d/demo", "d"), ("d", "d/docs"), ("d", "d")])
def test_documents_and_results_must_not_lie_in_each_other(tmp_path, out, documents):
    """Clearing must not hit documents, nor results be sent as documents."""
    (tmp_path / documents).mkdir(parents=True)
    options = DemoOptions(out=tmp_path / out, documents=tmp_path / documents)
    with pytest.raises(LocalError):
        prepare(options)
    assert (tmp_path / documents).exists()


@pytest.mark.parametrize(
    "illegal",
    [{"messages": 0}, {"loss": 0.9}, {"loss": -0.1}, {"kill_every": -1}, {"kill_every": 1e9}],
)
def test_illegal_options_are_refused(illegal):
    """Each option says what is legal."""
    with pytest.raises(LocalError) as refusal:
        DemoOptions(**illegal).check()
    assert refusal.value.name == "BadOption"


def test_a_directory_that_is_not_there_is_refused(tmp_path):
    """Before anything starts."""
    with pytest.raises(LocalError):
        DemoOptions(documents=tmp_path / "nowhere").check()


@pytest.mark.parametrize("is_signed", [True, False])
def test_options_that_say_unsigned_or_never_sign(is_signed):
    """Signed by default where there are signatures; without any there is nothing to leave out."""
    options = DemoOptions(profile=Profile.EBMS_2_0, unsigned=not is_signed)
    options.check()
    assert options.is_signed is is_signed
    assert not DemoOptions(profile=Profile.RM_2001).is_signed
    with pytest.raises(LocalError, match="rm-2001 never signs"):
        DemoOptions(profile=Profile.RM_2001, unsigned=True).check()


def test_a_key_is_for_its_owner_and_a_certificate_for_both(tmp_path):
    """The gateway takes what was made: `check` finds nothing wrong, and each knows the other."""
    _, *sites = prepare(DemoOptions(out=tmp_path / "demo"))
    signers = make_signers(*sites)
    for ours, theirs in (sites, sites[::-1]):
        assert stat.S_IMODE(ours.key.stat().st_mode) == 0o600
        text = configuration(
            ours,
            announced_port=1111,
            theirs=theirs,
            send_to_port=2222,
            profile=Profile.EBMS_2_0,
            is_signed=True,
        )
        ours.configuration.write_text(text, encoding="utf-8")
        read = read_configuration(ours.configuration)
        assert not list(problems_of(read))
        assert read.agreements[0].terms.ack_requested is AckRequested.SIGNED
        (pinned,) = read.agreements[0].signing.partner_certificates
        assert pinned.fingerprint == signers[theirs.name]
        (identity,) = read_identities(read)
        assert identity.fingerprint == signers[ours.name]


@pytest.mark.parametrize(
    ("profile", "window"), [(Profile.RM_2000, 1), (Profile.RM_2001, 16), (Profile.EBMS_2_0, 16)]
)
def test_the_generated_configuration_is_one_that_the_gateway_takes(tmp_path, profile, window):
    """All of it: addresses, agreement, drill; also under a directory with odd characters."""
    odd = tmp_path / 'a "quoted" \\ näme'
    _, buyer, seller = prepare(DemoOptions(out=odd))
    text = configuration(
        buyer,
        announced_port=1111,
        theirs=seller,
        send_to_port=2222,
        profile=profile,
        is_signed=False,
    )
    buyer.configuration.write_text(text, encoding="utf-8")
    read = read_configuration(buyer.configuration)
    assert read.uri == "http://127.0.0.1:1111/msh"
    assert read.agreements[0].send_to == "http://127.0.0.1:2222/msh"
    assert read.agreements[0].profile is profile
    assert read.agreements[0].terms.window == window
    assert read.lake == str(buyer.lake)
    assert read.store == buyer.directory / "gateway.db"
    assert read.drill is not None
    assert json.dumps(tomllib.loads(text))


def test_free_ports_are_distinct_and_below_those_of_clients():
    """A dead gateway's port must not be given to a client's connection."""
    ports = free_ports(8)
    assert len(set(ports)) == 8
    assert all(port < 32768 for port in ports)
