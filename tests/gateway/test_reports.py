"""Reports over the API: what is told of them, and who gets their files."""

import json
import os
from html import escape
from pathlib import Path

import httpx
import pytest
from calling import refused
from running_gateway import serving_api

from onceonly.gateway import reports
from onceonly.gateway.api.report_calls import SANDBOX
from onceonly.gateway.report_files import FoundFile, Look

pytestmark = pytest.mark.anyio

NUMBERS = {
    "as_of": 1_764_100_000_000_000,
    "parties": ["urn:duns:1"],
    "messages": 3,
    "verdicts": {"MATCHED": 2, "ACK_LOST": 1},
    "differences": 1,
    "invariants": {"E1": 0, "E3": 4},
}


def write(folder: Path, files: dict[str, str]) -> None:
    """Each a second later than the one before."""
    for n, (name, text) in enumerate(files.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_700_000_000 + n, 1_700_000_000 + n))


def page(numbers: object) -> str:
    return f'<meta name="onceonly-report" content="{escape(json.dumps(numbers))}">'


async def test_reports_are_told_with_their_numbers_the_latest_first(gateway):
    """What each kind is, is seen from what is in it, and not from its name."""
    advice = [{"agreement_id": "a", "from_party": "p", "proposed": None, "more": 1}]
    pack = {**NUMBERS, "between": ["p", "q"], "breaches": {"E1": 0}}
    write(
        gateway.configuration.reports,
        {
            "old.html": page(NUMBERS),
            "q3/summary.json": json.dumps(pack),
            "q3/SHA256SUMS": "x",
            "q3/journal/part.parquet": "y",
            "reconcile.json": json.dumps({"verdicts": {"MATCHED": 5}, "differences": 0}),
            "advice.json": json.dumps(advice),
            "notes.txt": "z",
        },
    )
    found = await gateway.get("/v1/reports")
    told = [(one["path"], one["kind"]) for one in found["reports"]]
    assert told == [
        ("notes.txt", "file"),
        ("advice.json", "advice"),
        ("reconcile.json", "reconciliation"),
        ("q3", "evidence"),
        ("old.html", "report"),
    ]
    *_, reconciled, evidence, report = (one["summary"] for one in found["reports"])
    assert report == {
        "as_of": "2025-11-25T19:46:40.000000Z",
        "about": ["urn:duns:1"],
        "messages": 3,
        "verdicts": {"MATCHED": 2, "ACK_LOST": 1},
        "differences": 1,
        "broken": 1,
    }
    assert (evidence["about"], evidence["broken"]) == (["p", "q"], 0)
    assert (reconciled["messages"], reconciled["as_of"], reconciled["broken"]) == (5, None, None)
    files = [one["path"] for one in found["reports"][3]["files"]]
    assert sorted(files) == ["q3/SHA256SUMS", "q3/journal/part.parquet", "q3/summary.json"]
    assert (found["trouble"], found["is_cut"]) == (None, False)


@pytest.mark.parametrize(
    "text",
    [
        page("numbers"),
        page({"verdicts": {"MATCHED": "many"}}),
        page({**NUMBERS, "as_of": "now"}),
        '<meta name="onceonly-report" content="{">',
        "",
        "[" * 100_000,
        page({"verdicts": {"M": 10**400}}),
    ],
)
async def test_what_is_no_summary_is_a_file(gateway, text):
    """Whatever somebody wrote into it."""
    write(gateway.configuration.reports, {"a.html": text, "a.json": text})
    found = await gateway.get("/v1/reports")
    assert [(one["kind"], one["summary"]) for one in found["reports"]] == [("file", None)] * 2


async def test_the_greatest_number_is_a_time(gateway):
    """A summary may say anything within the bounds of JSON."""
    write(gateway.configuration.reports, {"a.html": page({**NUMBERS, "as_of": 1 << 53})})
    [one] = (await gateway.get("/v1/reports"))["reports"]
    assert one["summary"]["as_of"].startswith("2255-")


async def test_without_a_folder_the_reason_is_told(gateway):
    """It is made by whoever writes the first report."""
    found = await gateway.get("/v1/reports")
    assert found["reports"] == []
    assert "No such file" in found["trouble"]
    assert found["folder"] == str(gateway.configuration.reports)


async def test_only_the_latest_are_listed(gateway, monkeypatch):
    """And it is said that there are more."""
    monkeypatch.setattr(reports, "REPORTS_MAX", 2)
    write(gateway.configuration.reports, {f"{n}.txt": "" for n in range(3)})
    found = await gateway.get("/v1/reports")
    assert [one["path"] for one in found["reports"]] == ["2.txt", "1.txt"]
    assert found["is_cut"]


async def test_what_is_published_is_told_with_its_segments(gateway):
    """Up to which row, in how many files."""
    before = (await gateway.get("/v1/reports"))["journal"]
    assert (before["published_seq"], before["segments"], before["latest"]) == (None, 0, [])
    await gateway.call("POST", "/v1/lake/publish")
    found = (await gateway.get("/v1/reports"))["journal"]
    [segment] = found["latest"]
    assert segment["last_seq"] == found["published_seq"] <= found["last_seq"]
    assert found["segments"] == 1
    assert found["size_bytes"] == segment["size_bytes"] > 0


async def test_segments_elsewhere_are_not_listed():
    """A URL is not looked through for a page."""
    elsewhere = reports.Reports(Path("no"), lake="s3://bucket/lake", party="p")
    found = elsewhere.journal(last_seq=9, published_seq=None)
    assert (found.segments, found.size_bytes, found.latest) == (None, None, None)


async def test_a_file_is_sent_so_that_nothing_of_it_runs(gateway):
    """A page in a sandbox, everything else as an attachment in one."""
    text = "<script>alert(1)</script>"
    write(gateway.configuration.reports, {"a.html": text, "b/c.svg": text, "d.exe": text})
    expected = {
        "a.html": ("text/html; charset=utf-8", "inline"),
        "b/c.svg": ("image/svg+xml", "attachment"),
        "d.exe": ("application/octet-stream", "attachment"),
    }
    for path, (media, disposition) in expected.items():
        answer = await gateway.api.get("/v1/reports/file", params={"path": path})
        assert answer.content == text.encode()
        assert answer.headers["content-type"] == media
        assert answer.headers["content-disposition"].startswith(f"{disposition}; filename=")
        assert answer.headers["content-security-policy"] == SANDBOX
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["../gateway.toml", "gone.html", "b", "/etc/passwd"])
async def test_what_is_no_report_is_not_found(gateway, path):
    """Whatever else it is."""
    write(gateway.configuration.reports, {"b/c.html": ""})
    answer = await gateway.call("GET", "/v1/reports/file", params={"path": path})
    assert refused(answer) == (404, "NotFound")


async def test_a_file_that_becomes_shorter_breaks_the_connection(gateway):
    """Its reader sees that it has not all of it; nobody is told of a bug."""
    folder = gateway.configuration.reports
    write(folder, {"a.bin": ""})
    os.truncate(folder / "a.bin", 1 << 26)
    async with serving_api(gateway) as api, httpx.AsyncClient(base_url=api) as client:
        async with client.stream("GET", "/v1/reports/file?path=a.bin") as answer:
            os.truncate(folder / "a.bin", 0)
            with pytest.raises(httpx.HTTPError):
                await answer.aread()
        assert (await client.get("/healthz")).status_code == 200
    assert not gateway.parts.bugs.counts


def test_reports_are_sorted_into_their_packs():
    """A pack in a pack is of both."""
    names = [(f"{n}", last) for n in range(3) for last in ("SHA256SUMS", "summary.json")]
    inner = [("0", "in", last) for last in ("SHA256SUMS", "data", "summary.json")]
    found = tuple(
        FoundFile(names=one, size_bytes=0, written_ns=0) for one in [("lone",), *inner, *names]
    )
    groups = [
        [one.path for one in files] for files in reports._groups(Look(files=found, is_cut=False))
    ]
    assert groups[0] == ["lone"]
    assert ["0/in/summary.json", "0/in/SHA256SUMS", "0/in/data"] in groups
    assert [one[0] for one in groups if "0/in/data" in one] == [
        "0/in/summary.json",
        "0/summary.json",
    ]
    assert len(groups) == 5


async def test_a_file_above_the_bound_is_refused(gateway, monkeypatch):
    """With the place where it can be taken."""
    monkeypatch.setattr(reports, "FILE_BYTES_MAX", 3)
    write(gateway.configuration.reports, {"a.txt": "four"})
    answer = await gateway.call("GET", "/v1/reports/file", params={"path": "a.txt"})
    assert refused(answer) == (409, "ReportTooLarge")


async def test_a_file_is_kept_under_its_name(gateway):
    """Whatever signs it has; each ends up in a file of that name and nowhere else."""
    names = {
        'a"; x=y.txt': "filename=\"a__ x_y.txt\"; filename*=UTF-8''a%22%3B%20x%3Dy.txt",
        "Prüfung.html": "filename=\"Pr_fung.html\"; filename*=UTF-8''Pr%C3%BCfung.html",
    }
    write(gateway.configuration.reports, dict.fromkeys(names, ""))
    for name, expected in names.items():
        answer = await gateway.api.get("/v1/reports/file", params={"path": name})
        assert answer.headers["content-disposition"].partition("; ")[2] == expected
