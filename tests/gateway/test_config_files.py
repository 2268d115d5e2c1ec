"""Agreements in a folder of files, names of partners, and secrets outside of the file."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from configuration_file import SMALLEST
from packages import ORDER
from peer import Peer
from running_gateway import running

from onceonly.cli.main import cli
from onceonly.gateway.config import Configuration, ConfigurationError, read_configuration
from onceonly.gateway.open_files import find_open
from recipes import configurations_of, examples_of, files_of

AGREEMENT = """
[[agreement]]
id = "{0}"
with = ["urn:duns:{0}"]
send_to = "http://{0}.example/msh"
"""


def write(
    folder: Path, files: dict[str, str], gateway: str = 'agreements = "agreements.d"'
) -> Path:
    """A configuration with a folder that has these files."""
    path = folder / "gateway.toml"
    path.write_text(SMALLEST.replace("[gateway]\n", f"[gateway]\n{gateway}\n"), "utf-8")
    there = folder / "agreements.d"
    there.mkdir(exist_ok=True)
    for name, text in files.items():
        (there / name).write_text(text, "utf-8")
    return path


def refusal(path: Path) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as refused:
        read_configuration(path)
    return refused.value


def test_the_files_of_the_folder_follow_in_the_order_of_their_names(tmp_path: Path) -> None:
    """Whatever order the disk has them in; hidden files and other endings are left alone."""
    files = {f"{name}.toml": AGREEMENT.format(name) for name in ("20-b", "10-a", "30-c")}
    files |= {".20-b.toml": "nonsense", "notes.txt": "nonsense", "40-d.toml.bak": "nonsense"}
    found = read_configuration(write(tmp_path, files))
    first = read_configuration(write(tmp_path, {}, gateway="")).agreements[0].id
    assert [one.id for one in found.agreements] == [first, "10-a", "20-b", "30-c"]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (AGREEMENT.format("a") + "retires = 3\n", 6, "retires is no key of [agreement]"),
        ("[[agreement]]\nid = =\n", 2, "is not TOML"),
        (
            '[gateway]\nparty = ["urn:duns:1"]\n',
            1,
            "is no table; legal: [[agreement]], [[identity]]",
        ),
        (AGREEMENT.format("a").replace("http:", "ftp:"), 5, "send_to"),
    ],
)
def test_an_error_names_the_file_of_the_folder_and_its_line(
    tmp_path: Path, text: str, line: int, reason: str
) -> None:
    path = write(tmp_path, {"10-a.toml": AGREEMENT.format("z"), "20-b.toml": text})
    refused = refusal(path)
    assert refused.where == f"{tmp_path}/agreements.d/20-b.toml:{line}"
    assert reason in refused.reason


def test_an_id_that_is_there_twice_is_refused_with_both_places(tmp_path: Path) -> None:
    path = write(
        tmp_path, {"1.toml": AGREEMENT.format("a"), "2.toml": "\n" + AGREEMENT.format("a")}
    )
    refused = refusal(path)
    assert refused.where == f"{tmp_path}/agreements.d/2.toml:4"
    assert f"the other is at {tmp_path}/agreements.d/1.toml:3" in refused.reason


def test_a_folder_that_is_not_there_is_refused_where_it_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, {}, gateway='agreements = "elsewhere"')
    refused = refusal(path)
    assert refused.where == f"{path}:2"
    assert "No such file or directory" in refused.reason


def test_the_digest_is_that_of_all_files(tmp_path: Path) -> None:
    """So whoever compares two of them sees a change in any file."""
    digests = {
        read_configuration(write(tmp_path, {"a.toml": AGREEMENT.format("a") + more})).digest
        for more in ("", "retries = 3\n")
    }
    assert len(digests) == 2


def test_a_partner_has_one_name(tmp_path: Path) -> None:
    text = AGREEMENT.format("a")
    one, other = (
        text + 'name = "Smith"\n',
        text.replace('id = "a"', 'id = "b"') + 'name = "Smyth"\n',
    )
    path = write(tmp_path, {"1.toml": one, "2.toml": other})
    assert "name is another than in 'a'" in refusal(path).reason


@pytest.mark.anyio
async def test_the_name_is_shown_with_the_partner(tmp_path: Path, peer: Peer) -> None:
    """In lists of pairs and incidents, in pings, and by `check`; never in what is sent."""
    async with running(tmp_path, peer, terms={"name": "Smith & Co"}) as gateway:
        [*pairs] = (await gateway.get("/v1/partners"))["partners"]
        assert {one["partner_name"] for one in pairs} == {"Smith & Co"}
        pinged = await gateway.call("POST", f"/v1/partners/{peer.party}/ping?wait=0")
        assert [one["partner_name"] for one in pinged.json["pings"]] == ["Smith & Co"]
        await peer.hear("Ping")
        await gateway.submit(ORDER, to=peer)
        assert b"Smith" not in (await peer.hear("Normal")).body
        said = CliRunner().invoke(cli, ["check", "-c", str(gateway.configuration.path)])
        assert f"with {peer.party} (Smith & Co) at" in said.stdout


def with_token(folder: Path, token: str) -> Configuration:
    return read_configuration(write(folder, {}, gateway=f"api_token = {token}"))


def test_a_secret_is_in_the_file_or_in_a_file_or_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("s3cret\n", "utf-8")
    monkeypatch.setenv("ONCEONLY_TEST_TOKEN", "s3cret")
    for given in ('"s3cret"', '{file = "token"}', '{env = "ONCEONLY_TEST_TOKEN"}'):
        assert with_token(tmp_path, given).api_token == "s3cret", given


@pytest.mark.parametrize("content", ["", "\n", "a\nb\n", "x" * 70_000, "\x07"])
def test_a_file_that_is_no_secret_is_refused_by_name_and_not_shown(
    tmp_path: Path, content: str
) -> None:
    (tmp_path / "token").write_text(content, "utf-8")
    with pytest.raises(ConfigurationError, match=r"token is not one line with a secret") as refused:
        with_token(tmp_path, '{file = "token"}')
    assert len(str(refused.value)) < 500


def test_a_file_of_a_secret_that_others_can_read_is_named_at_start_and_by_check(
    tmp_path: Path,
) -> None:
    """And the configuration only where the secret stands in it."""
    token = tmp_path / "token"
    token.write_text("s3cret", "utf-8")
    token.chmod(0o644)
    configuration = with_token(tmp_path, '{file = "token"}')
    os.chmod(configuration.path, 0o644)  # noqa: PTH101 - because the path is read above
    assert [one.path for one in find_open(configuration)] == [str(token)]
    said = CliRunner().invoke(cli, ["check", "-c", str(configuration.path)])
    assert f"{token} is open to other users (mode 0644): chmod o-rwx {token}" in said.stderr
    inside = with_token(tmp_path, '"s3cret"')
    assert [one.path for one in find_open(inside)] == [str(inside.path)]


def test_the_page_about_many_partners_is_a_configuration(tmp_path: Path) -> None:
    """Its files are read as the page says."""
    [text] = configurations_of("how-to/many-partners.md")
    files = files_of("how-to/many-partners.md", "/etc/onceonly/agreements.d")
    (tmp_path / "gateway.toml").write_text(text, "utf-8")
    (tmp_path / "agreements.d").mkdir()
    for name, content in files.items():
        (tmp_path / "agreements.d" / name).write_text(content, "utf-8")
    found = read_configuration(tmp_path / "gateway.toml")
    assert [one.name for one in found.agreements] == ["Miller Ltd", "Smith & Co"]


def test_the_page_about_secrets_is_a_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each way that it shows is read."""
    [text] = configurations_of("how-to/secrets.md")
    assert 'file = "secrets/api-token"' in text
    (tmp_path / "gateway.toml").write_text(text, "utf-8")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "api-token").write_text("one\n", "utf-8")
    monkeypatch.setenv("ONCEONLY_RELAY_PASSWORD", "two")
    found = read_configuration(tmp_path / "gateway.toml")
    assert found.api_token == "one"
    assert found.smtp is not None
    assert found.smtp.password == "two"
    assert "LoadCredential=" in "".join(examples_of("how-to/secrets.md", "ini"))
