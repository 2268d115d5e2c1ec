"""An evidence pack tells a partner what is about the pair, all of it, and nothing else."""

from __future__ import annotations

import json
import shutil
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa, x25519
from journals import (
    BUYER,
    BUYER_TOML,
    MUCH_LATER,
    PLANTS,
    SECOND,
    SELLER,
    Exchange,
    Ledger,
    plant,
    publish,
    upgraded,
)

from onceonly.cli.main import cli
from onceonly.lake import jobs
from onceonly.lake.packs import seal, summary
from onceonly.lake.schemas import KEY
from onceonly.lake.verdicts import Verdict
from onceonly.message.errors import LocalError
from onceonly.message.event import Event

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STRANGER = "urn:duns:999999999"
DAY_ONE = "2025-10-09"
"""The day of `DAWN`."""


class World:
    """A buyer with two partners, a pack about one of them, and the key that signed it."""

    def __init__(self, root: Path) -> None:
        self.lake, self.pack, self.day = root / "lake", root / "pack", root / "day"
        buyer, seller, stranger = Ledger(BUYER), Ledger(SELLER), Ledger(STRANGER)
        ours, others = Exchange(buyer, seller), Exchange(buyer, stranger)
        for number in range(5):
            ours.matched(f"ours-{number}")
            others.now = ours.now
            others.matched(f"theirs-{number}")
            ours.now = others.now
            buyer.write(Event.SECURITY_EVENT, ours.now, reason="about nobody we know")
        self.planted = plant(ours, PLANTS)
        ours.now += 86_400 * SECOND
        ours.matched("the-day-after")
        others.now = ours.now
        others.delivered_twice("theirs-twice")
        # The seller's gateway was upgraded on the way: its rows are of two versions.
        for ledger in (buyer, upgraded(seller, len(seller.records) // 2), stranger):
            publish(self.lake, ledger)
        self.key = root / "key.pem"
        self.public = write_keys(self.key, ed25519.Ed25519PrivateKey.generate())


def write_keys(path: Path, key: Any) -> Path:
    """Both halves of a key; returns the public one."""
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    public = path.with_suffix(".pub")
    public.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return public


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> World:
    world = World(tmp_path_factory.mktemp("world"))
    jobs.ingest(str(world.lake))
    order = ["lake", "pack", str(world.lake), "--between", BUYER, SELLER]
    signed = ["--by", "A. Auditor", "--comment", "third quarter", "--sign", str(world.key)]
    now = ["--as-of", str(MUCH_LATER)]
    for where, more in ((world.pack, signed), (world.day, ["--day", DAY_ONE])):
        result = CliRunner().invoke(cli, [*order, "--out", str(where), *now, *more])
        assert result.exit_code == 0, result.output
    return world


def resealed(world: World, place: Path) -> Path:
    """A copy of the pack that somebody may edit; `seal.close` makes its digests right again."""
    return Path(shutil.copytree(world.pack, place))


def rewrite(folder: Path, rows: pa.Table) -> None:
    for path in folder.glob("*"):
        path.unlink()
    pq.write_table(rows, folder / "part-0.parquet")


@pytest.mark.long
def test_a_partner_verifies_a_pack(world: World):
    """Exit code 0, who signed it off is told, and every class was counted."""
    result = CliRunner().invoke(
        cli, ["lake", "verify", str(world.pack), "--key", str(world.public)]
    )
    assert result.exit_code == 0, result.output
    assert "signed off by A. Auditor" in result.stderr
    assert "third quarter" in result.stderr
    assert f"judged as of {MUCH_LATER}" in result.stderr
    assert f"journal of {BUYER}: whole" in result.stderr
    told = json.loads((world.pack / "summary.json").read_text())
    expected = {verdict.value: 0 for verdict in Verdict} | {Verdict.MATCHED.value: 6}
    for verdict in world.planted.values():
        expected[verdict] += 1
    # Nobody knows for whom an acknowledgement was that fits no message.
    expected[Verdict.ORPHAN_ACK] = 0
    assert told["verdicts"] == expected
    assert told["holders"] == [BUYER, SELLER]


@pytest.mark.long
def test_a_pack_says_nothing_about_anybody_else(world: World):
    """No byte of it names another partner, or a message with them."""
    for name in ("journal", "lifecycle", "verdicts"):
        text = json.dumps(pq.read_table(world.pack / name).to_pylist())
        assert STRANGER not in text
        assert "theirs-" not in text
        assert "nobody we know" not in text
    texts = (world.pack / "summary.json").read_text() + (world.pack / "SHA256SUMS").read_text()
    assert STRANGER not in texts


def test_a_day_leaves_out_the_others(world: World):
    """Messages that began on the day, with all their rows; verified like any other pack."""
    told = json.loads((world.day / "summary.json").read_text())
    assert told["day"] == DAY_ONE
    assert told["verdicts"]["MATCHED"] == 6
    lives = pq.read_table(world.day / "lifecycle").column("message_id").to_pylist()
    assert "the-day-after" not in lives
    found = jobs.verify(world.day)
    assert (found.holds, found.signed, found.unchained) == (True, None, 0)


def test_a_pack_is_judged_by_the_rules_that_are_given(world: World, tmp_path: Path):
    """As late as journals may come nothing is absent; a life may last as the terms allow."""
    config, out = tmp_path / "buyer.toml", tmp_path / "pack"
    config.write_text(BUYER_TOML)
    order = ["lake", "pack", str(world.lake), "--between", BUYER, SELLER, "--out", str(out)]
    rules = ["--grace", "50000", "--verdict-within", "0.001", "--terms", str(config)]
    result = CliRunner().invoke(cli, [*order, "--as-of", str(MUCH_LATER), *rules])
    assert result.exit_code == 0, result.output
    told = summary.read(out)
    assert told.policy.grace_us == 50_000 * 60 * SECOND
    assert told.policy.verdict_within_us == 15 * SECOND
    given = {row["verdict"] for row in pq.read_table(out / "verdicts").to_pylist()}
    assert Verdict.SENT_NOT_RECEIVED in world.planted.values()
    assert Verdict.SENT_NOT_RECEIVED not in given
    assert Verdict.IN_FLIGHT in given


def test_everything_that_does_not_agree_is_named(world: World, tmp_path: Path):
    """Edits by somebody who makes all digests right again: rows, lives, verdicts, counts."""
    pack = resealed(world, tmp_path / "pack")
    rows = pq.read_table(pack / "journal").to_pylist()
    edited = next(row for row in rows if row["event"] == "Stored" and row["message_id"] == "ours-0")
    edited["size_bytes"] = 1
    gone = next(
        row for row in rows if row["event"] == "HandedOver" and row["message_id"] == "ours-1"
    )
    rows.remove(gone)
    rows.remove(next(row for row in rows if row["party"] == BUYER and row["seq"] > 9))
    rows.append({**edited, "to_party": STRANGER, "seq": 4_000})
    rewrite(pack / "journal", pa.Table.from_pylist(rows, pq.read_schema(one_of(pack / "journal"))))
    verdicts = pq.read_table(pack / "verdicts")
    values = verdicts.to_pylist()
    judged = next(row for row in values if row["verdict"] == Verdict.DELIVERED_TWICE)
    judged["verdict"] = Verdict.MATCHED.value
    rewrite(pack / "verdicts", pa.Table.from_pylist(values, verdicts.schema))
    told = json.loads((pack / "summary.json").read_text())
    told["verdicts"]["MATCHED"] += 1
    (pack / "summary.json").write_text(json.dumps(told))
    seal.close(pack, sign=None)
    found = jobs.verify(pack, key=world.public)
    named = {f"{one.place}: {one.what}" for one in found.disagreements}
    assert f"row {edited['seq']} of {SELLER}: does not give its hash" in named
    assert f"row 4000 of {SELLER}: is not about the two parties of the pack" in named
    assert f"message ours-1 from {BUYER}: its life is not that of its journal rows" in named
    assert f"message {judged['message_id']} from {BUYER}: its verdict is another" in named
    assert "SHA256SUMS.sig: is not by the owner of this key" in named
    assert any(line.startswith("summary.json: verdicts of MATCHED") for line in named)
    assert any(line.startswith(f"summary.json: rows of {BUYER}") for line in named)
    result = CliRunner().invoke(cli, ["lake", "verify", str(pack)])
    assert result.exit_code == 11
    assert "things do not agree" in result.stderr


@pytest.mark.long
def test_a_pack_is_not_believed_what_it_says_of_its_own_hashes(world: World, tmp_path: Path):
    """An edited row with its mark removed, emptied or put to false is named; false by request."""
    pack = resealed(world, tmp_path / "pack")
    rows = pq.read_table(pack / "journal").to_pylist()
    edited = next(row for row in rows if row["event"] == "Stored" and row["message_id"] == "ours-0")
    edited["reason"] = "edited"
    place = f"row {edited['seq']} of {edited['party']}"
    table = pa.Table.from_pylist(rows, pq.read_schema(one_of(pack / "journal")))
    at = table.schema.get_field_index("is_chained")
    found = {}
    for name, marks in (
        ("gone", None),
        ("null", pa.nulls(len(rows), pa.bool_())),
        ("false", pa.array([row is not edited for row in rows])),
    ):
        changed = table.remove_column(at)
        if marks is not None:
            changed = changed.append_column("is_chained", marks)
        rewrite(pack / "journal", changed)
        seal.close(pack, sign=None)
        found[name] = {f"{one.place}: {one.what}" for one in jobs.verify(pack).disagreements}
    assert found == {
        "gone": {"journal: part-0.parquet lacks the column is_chained"},
        "null": {f"{place}: does not give its hash"},
        "false": {f"{place}: cannot be proved: its hash cannot be computed"},
    }
    result = CliRunner().invoke(cli, ["lake", "verify", str(pack), "--allow-unchained"])
    assert (result.exit_code, "1 rows whose hashes" in result.stderr) == (0, True), result.output


def test_lives_and_verdicts_that_stand_twice_or_moved_between_columns_are_named(
    world: World, tmp_path: Path
):
    """A row said again, and a value put into an empty column beside its own."""
    pack = resealed(world, tmp_path / "pack")
    lives, verdicts = (pq.read_table(pack / name) for name in ("lifecycle", "verdicts"))
    values = lives.to_pylist()
    moved = next(row for row in values if row["message_id"] == "ours-0")
    names = sorted(set(lives.schema.names) - set(KEY))
    full, empty = next(
        pair for pair in pairwise(names) if [moved[one] is None for one in pair] == [False, True]
    )
    moved[full], moved[empty] = None, moved[full]
    again = next(row for row in values if row["message_id"] == "ours-1")
    rewrite(pack / "lifecycle", pa.Table.from_pylist([*values, again], lives.schema))
    first = verdicts.slice(0, 1)
    rewrite(pack / "verdicts", pa.concat_tables([verdicts, first]))
    seal.close(pack, sign=None)
    [judged] = first.to_pylist()
    place = f"message {judged['message_id']} from {judged['from_party']}"
    assert {f"{one.place}: {one.what}" for one in jobs.verify(pack).disagreements} == {
        f"message ours-0 from {BUYER}: its life is not that of its journal rows",
        f"message ours-1 from {BUYER}: its life is in the pack more than once",
        f"{place}: its verdict is in the pack more than once",
    }


@pytest.mark.parametrize("is_edited", [True, False], ids=["differs", "agrees"])
def test_a_pack_of_another_version_is_verified_and_its_maker_named(
    world: World, tmp_path: Path, *, is_edited: bool
):
    """Rules may change with versions; so what differs may be nobody's fault, and it says so."""
    pack = resealed(world, tmp_path / "pack")
    told = json.loads((pack / "summary.json").read_text())
    told["made_by"] = "onceonly 0.0.1"
    told["breaches"][next(iter(told["breaches"]))] += int(is_edited)
    (pack / "summary.json").write_text(json.dumps(told))
    seal.close(pack, sign=None)
    result = CliRunner().invoke(cli, ["lake", "verify", str(pack)])
    assert result.exit_code == (11 if is_edited else 0), result.output
    assert "  made by onceonly 0.0.1" in result.stderr
    assert ("onceonly 0.0.1 made the pack" in result.stderr) == is_edited


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("made_by", 7),
        ("verdicts", [1, 2]),
        ("rows", {"a": "many"}),
        ("as_of", "now"),
        ("holders", "urn:one"),
        ("wholeness", None),
        ("policy", {"retries": "x"}),
        ("policy", "strict"),
        ("signed_off", {"by": 1, "comment": "", "at": ""}),
        ("between", ["\ud800", "urn:two"]),
        ("rows", {"\udfff": 1}),
        ("as_of", 1 << 60),
        ("as_of", float("nan")),
    ],
)
def test_a_summary_that_is_none_is_named(world: World, tmp_path: Path, place: str, value: object):
    """Counts that are no counts, rules that are no rules: a line, and never a traceback."""
    told = json.loads((world.pack / "summary.json").read_text())
    (tmp_path / "summary.json").write_text(json.dumps({**told, place: value}))
    with pytest.raises(LocalError, match="is no summary of a pack") as refused:
        summary.read(tmp_path)
    assert refused.value.name == "BadPack"


def test_the_sums_of_a_summary_are_made_anew(world: World, tmp_path: Path):
    """What people read first follows from the counts, and nothing stands beside it unverified."""
    pack = resealed(world, tmp_path / "pack")
    told = json.loads((pack / "summary.json").read_text())
    edited = {**told, "differences": 0, "messages": 7, "audited": "nothing differs"}
    (pack / "summary.json").write_text(json.dumps(edited))
    seal.close(pack, sign=None)
    assert [one.what for one in jobs.verify(pack).disagreements] == [
        "audited: 'nothing differs', and not None",
        f"differences: 0, and not {told['differences']}",
        f"messages: 7, and not {told['messages']}",
    ]


def test_what_nobody_computes_anew_is_no_part_of_a_pack(world: World, tmp_path: Path):
    """Verdicts that other readers find: hidden, or under a folder that Spark believes."""
    pack = resealed(world, tmp_path / "pack")
    verdicts = pq.read_table(pack / "verdicts")
    names = [Verdict.MATCHED.value] * len(verdicts)
    agreed = verdicts.set_column(verdicts.schema.names.index("verdict"), "verdict", [names])
    pq.write_table(agreed, pack / "verdicts" / "_all.parquet")
    inside = pack / "verdicts" / "standing=agreed"
    inside.mkdir()
    pq.write_table(agreed.slice(0, 0), inside / "part-0.parquet")
    (pack / "verdicts.csv").write_text("all,MATCHED")
    seal.close(pack, sign=None)
    assert [one.place for one in jobs.verify(pack).disagreements] == [
        "verdicts/_all.parquet",
        "verdicts/standing=agreed",
        "verdicts/standing=agreed/part-0.parquet",
        "verdicts.csv",
    ]


def test_a_summary_that_is_all_brackets_is_named(tmp_path: Path):
    """Deeper than any parser goes."""
    (tmp_path / "summary.json").write_text("[" * 200_000)
    with pytest.raises(LocalError, match="is no summary of a pack"):
        summary.read(tmp_path)


def test_a_pack_with_a_link_in_it_is_not_read(world: World, tmp_path: Path):
    """It may lead anywhere on this machine; the command names it, and nothing else is opened."""
    pack = resealed(world, tmp_path / "pack")
    (pack / "lifecycle").rename(tmp_path / "lifecycle")
    (pack / "lifecycle").symlink_to(tmp_path / "lifecycle")
    found = CliRunner().invoke(cli, ["lake", "verify", str(pack)])
    assert found.exit_code == 11
    assert found.stdout == "lifecycle\tis a link, and nothing that a pack has\n"


def one_of(folder: Path) -> Path:
    return next(folder.glob("*.parquet"))


def test_harmed_files_are_named(world: World, tmp_path: Path):
    """A flipped byte, a file too many, one too few, no digests at all, and no pack."""
    pack = resealed(world, tmp_path / "pack")
    journal = one_of(pack / "journal")
    content = bytearray(journal.read_bytes())
    content[len(content) // 3] ^= 0xFF
    journal.write_bytes(content)
    one_of(pack / "verdicts").unlink()
    (pack / "extra.txt").write_text("what is this")
    found = [one.what for one in jobs.verify(pack).disagreements]
    assert f"journal/{journal.name} does not give its digest" in found
    assert "extra.txt is in no digest" in found
    assert any(what.startswith("verdicts/") and what.endswith("is missing") for what in found)
    (pack / "SHA256SUMS").unlink()
    (pack / "summary.json").write_text("{}")
    harmed = jobs.verify(pack)
    assert harmed.summary is None
    assert "never finished" in harmed.disagreements[0].what
    with pytest.raises(LocalError, match="there is no pack"):
        jobs.verify(tmp_path / "nowhere")


def without_an_end(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def with_words_for_numbers(file: Path) -> None:
    rows = pq.read_table(file)
    at = rows.schema.names.index("at")
    pq.write_table(rows.set_column(at, "at", [["soon"] * len(rows)]), file)


@pytest.mark.parametrize(
    ("harm", "place"), [(without_an_end, "journal"), (with_words_for_numbers, "rows")]
)
def test_a_pack_that_nobody_can_read_does_not_agree(
    world: World, tmp_path: Path, harm: Callable[[Path], None], place: str
):
    """Its digests may be those of its files, and one of these be no table, or none of journals."""
    pack = resealed(world, tmp_path / "pack")
    harm(one_of(pack / "journal"))
    seal.close(pack, sign=None)
    found = jobs.verify(pack)
    [unread] = [one for one in found.disagreements if "cannot be read" in one.what]
    assert unread.place == place
    assert not found.holds


def test_without_its_library_a_signature_is_refused_and_names_it(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(LocalError, match=r"pip install 'onceonly\[spark\]'") as refused:
        seal.signer(world.key)
    assert refused.value.name == "NoCryptography"


@pytest.mark.parametrize(
    "key",
    [
        ed25519.Ed25519PrivateKey.generate(),
        ec.generate_private_key(ec.SECP256R1()),
        rsa.generate_private_key(public_exponent=65_537, key_size=2_048),
    ],
    ids=["ed25519", "ecdsa", "rsa"],
)
def test_keys_of_every_kind_sign(tmp_path: Path, key: Any):
    """Signed digests are by the owner of the key, and by nobody else."""
    public = write_keys(tmp_path / "key.pem", key)
    pack = tmp_path / "pack"
    pack.mkdir()
    (pack / "file").write_text("content")
    seal.close(pack, sign=seal.signer(tmp_path / "key.pem"))
    assert seal.broken(pack) == []
    assert seal.is_signed_by(pack, public)
    other = write_keys(tmp_path / "other.pem", type_of(key))
    assert not seal.is_signed_by(pack, other)
    (pack / "SHA256SUMS.sig").unlink()
    assert not seal.is_signed_by(pack, public)
    with pytest.raises(LocalError, match="no private key"):
        seal.signer(public)
    with pytest.raises(LocalError, match="no public key"):
        seal.is_signed_by(pack, pack / "file")


@pytest.mark.parametrize(
    "key",
    [x25519.X25519PrivateKey.generate(), dsa.generate_private_key(key_size=1_024)],
    ids=["x25519", "dsa"],
)
def test_a_key_that_does_not_sign_is_refused_at_once(tmp_path: Path, key: Any):
    """Both halves of one that can be read, and that our signatures cannot be made with."""
    public = write_keys(tmp_path / "key.pem", key)
    for look, half in ((seal.signer, tmp_path / "key.pem"), (partner_s, public)):
        with pytest.raises(LocalError, match="nothing is signed") as refused:
            look(half)
        assert refused.value.name == "BadKey"


def partner_s(key: Path) -> bool:
    return seal.is_signed_by(key.parent, key)


def type_of(key: Any) -> Any:
    """Another key of the same kind."""
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return ed25519.Ed25519PrivateKey.generate()
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(public_exponent=65_537, key_size=2_048)


class Inside(Exchange):
    """Between two PartyIds of one gateway, which has one journal."""

    def key(self, message_id: str) -> dict[str, Any]:
        return {**super().key(message_id), "to_party": STRANGER}


@pytest.mark.long
def test_a_pack_about_two_names_of_one_gateway_agrees(spark: SparkSession, tmp_path: Path):
    """One journal is one witness, and none of its rows is of a journal that was not there."""
    both = Ledger(BUYER)
    Inside(both, both).matched("m@example")
    publish(tmp_path / "lake", both)
    jobs.ingest(str(tmp_path / "lake"))
    pair, out = jobs.PackScope(BUYER, STRANGER), tmp_path / "pack"
    made = jobs.pack(str(tmp_path / "lake"), pair, out=out, as_of=MUCH_LATER)
    assert (made.holders, made.counts.verdicts[Verdict.ONE_SIDED]) == ([BUYER], 1)
    assert list(jobs.verify(out).disagreements) == []


def test_a_pack_needs_evidence_and_an_empty_folder(world: World, tmp_path: Path):
    """Two parties of whom no journal is there, and a folder that holds something."""
    with pytest.raises(LocalError, match="no journal of"):
        jobs.pack(str(world.lake), jobs.PackScope("urn:a", "urn:b"), out=tmp_path / "pack")
    with pytest.raises(LocalError, match="is not empty"):
        jobs.pack(str(world.lake), jobs.PackScope(BUYER, SELLER), out=world.pack)


@pytest.mark.long
def test_envelopes_that_prove_a_message_are_in_a_pack_by_their_digests(
    spark: SparkSession, tmp_path: Path
):
    """With who signed them; whoever names another envelope afterwards is found (`ebms2.md` §9.7).

    That a row has the digest of the file that `message evidence` writes, that command's test shows.
    """
    lake, pack = tmp_path / "lake", tmp_path / "pack"
    ours = Exchange(Ledger(BUYER), Ledger(SELLER))
    ours.acked_without_evidence("m@example")
    kept = {"acknowledgment": "ab" * 32, "message": "cd" * 32}
    ours.out(Event.EVIDENCE_KEPT, "m@example", reason="acknowledgment", **proof_of(kept))
    ours.into(Event.EVIDENCE_KEPT, "m@example", reason="message", **proof_of(kept, "message"))
    for ledger in (ours.sender, ours.receiver):
        publish(lake, ledger)
    jobs.ingest(str(lake))
    jobs.pack(str(lake), jobs.PackScope(BUYER, SELLER), out=pack, as_of=MUCH_LATER)
    assert jobs.verify(pack).holds
    rows = pq.read_table(pack / "journal").to_pylist()
    proofs = [row for row in rows if row["event"] == "EvidenceKept"]
    assert {row["reason"]: row["digest"] for row in proofs} == kept
    assert {row["signer"] for row in proofs} == {"ef" * 32}
    for row in proofs:
        row["digest"] = "00" * 32
    rewrite(pack / "journal", pa.Table.from_pylist(rows, pq.read_schema(one_of(pack / "journal"))))
    seal.close(pack, sign=None)
    named = {f"{one.place}: {one.what}" for one in jobs.verify(pack).disagreements}
    wrong = {f"row {row['seq']} of {row['party']}: does not give its hash" for row in proofs}
    assert wrong <= named


def proof_of(kept: dict[str, str], kind: str = "acknowledgment") -> dict[str, str]:
    """What the row of a kept envelope says of it."""
    return {"digest": kept[kind], "signer": "ef" * 32}
