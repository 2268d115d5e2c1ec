"""The console without a browser: what it answers, and what it never does."""

import io
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import httpx
import msgspec
import pyarrow.parquet as pq
import pytest
from two_gateways import DISTANT, MARKUP, NAME, SELLER, TOKEN, World

from certificates import need_openssl
from onceonly.api.messages import MessageDetail
from onceonly.console.application import HEADERS, NAVIGATION, Console
from onceonly.console.deeds import DEEDS
from onceonly.console.pages import inbox, messages
from onceonly.console.timeline import ahead_of
from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

HTML = {"accept": "text/html"}
COOKIE = re.compile(r"onceonly-\w+=[^;]+; HttpOnly; Max-Age=\d+; Path=/console; SameSite=strict")


def client_of(world: World, **more: Any) -> httpx.AsyncClient:
    """A browser without scripts."""
    return httpx.AsyncClient(base_url=world.api, trust_env=False, **more)


def token_in(page: str) -> str:
    found = re.search(r'name="token" value="([0-9a-f]{64})"', page)
    assert found is not None
    return found[1]


def twin_in(page: str) -> str:
    found = re.search(r"<code>GET (/[^<]+)</code>", page)
    assert found is not None, page
    return found[1].replace("&amp;", "&")


async def post(http: httpx.AsyncClient, world: World, path: str, **fields: str) -> httpx.Response:
    """A form as a browser posts it from a page of ours."""
    page = await http.get("/console/")
    data = {"token": token_in(page.text), **fields}
    return await http.post(path, data=data, headers={"origin": world.api})


async def test_a_browser_is_sent_to_the_console_and_a_program_is_not(world):
    """The address of the API is all that anybody has to know."""
    async with client_of(world) as http:
        sent = await http.get("/", headers=HTML)
        assert (sent.status_code, sent.headers["location"]) == (303, "/console/")
        assert (await http.get("/", headers={"accept": "application/json"})).status_code == 404
        assert (await http.get("/console")).headers["location"] == "/console/"
        assert (await http.get("/healthz", headers=HTML)).json()["status"]


async def test_every_page_has_its_twin_and_the_strict_head(world):
    """The twin is an address of the API that answers."""
    async with client_of(world) as http:
        for name, path in (await world.pages()).items():
            page = await http.get(path)
            expected = {"nothing-found": 400, "not-there": 404}.get(name, 200)
            assert page.status_code == expected, (name, page.text)
            for header, value in HEADERS.items():
                assert page.headers[header] == value, name
            if name not in ("not-there", "confirm"):
                assert (await http.get(twin_in(page.text))).status_code == 200, name


async def test_the_charts_show_what_was_sent_and_acknowledged(world):
    """Over each range; in words too, and the numbers as a table."""
    async with client_of(world) as http:
        for name in ("15min", "1h", "24h", "30d"):
            page = (await http.get(f"/console/?range={name}")).text
            assert "12 sent, 6 acknowledged, 0 duplicates received" in page, name
            assert len(re.findall(r'<th scope="row">', page)) in (1, 2)
            sent = re.search(r'class="p-sent" d="([^"]{80,})"', page)
            assert sent is not None
            assert sent[1].endswith("H1000.0")


async def test_what_failed_today_is_what_its_link_lists(world):
    """By when it ended: an hour of tomorrow has none of it."""
    async with client_of(world) as http:
        page = (await http.get("/console/")).text
        [(address, count)] = re.findall(
            r'href="([^"]+state%3Afailed[^"]+)"[^>]*>\s*<[^>]*>([^<]+)<', page
        )
        assert "settled_since" in address
        found = await http.get(address.replace("&amp;", "&"))
        assert f"<span>{count} found</span>" in found.text
        assert int(count) == len(re.findall(r'<td data-of="state">', found.text)) == 1
        later = {"q": "state:failed settled_since:2100-01-01T00:00:00Z"}
        assert "No message is like that" in (await http.get("/console/messages", params=later)).text


async def test_what_was_sent_can_be_looked_at_and_taken(world):
    """The header document with what an application wrote in it, as text; payloads as they were."""
    async with client_of(world) as http:
        header = await http.get("/console/message", params={"id": world.refused, "look": "header"})
        assert "ebXMLHeader/Header/MessageData/MessageId" in header.text
        assert "<script>window" not in header.text
        assert "&lt;script&gt;window" in header.text or "&amp;lt;script" in header.text
        shown = await http.get("/console/message", params={"id": world.delivered, "look": "0"})
        assert "<pre>&lt;Order/&gt;</pre>" in shown.text
        taken = await http.get("/console/payload", params={"id": world.delivered, "n": "0"})
        assert (taken.content, taken.headers["content-disposition"]) == (b"<Order/>", "attachment")
        assert taken.headers["content-security-policy"] == "sandbox"
        nothing = await http.get("/console/message", params={"id": world.delivered, "look": "9"})
        assert (nothing.status_code, 'id="h-look"' in nothing.text) == (200, False)


async def test_the_tries_ahead_are_told_with_their_times(world):
    """As the API plans them; of a message without a limit of tries, no number is invented."""
    found = await world.get(f"/v1/messages/{world.doubt}")
    given = msgspec.convert(found, MessageDetail)
    then, later = "2026-11-26T12:00:00Z", "2026-11-26T13:00:00Z"
    sending = msgspec.structs.replace(
        given, state="sending", attempt=2, next_attempt_at=then, gives_up_at=later, expires_at=None
    )
    first, last = ahead_of(sending)
    assert (first.at, "attempt 3 of 3" in first.text, last.at) == (then, True, later)
    endless = msgspec.structs.replace(
        sending, attempts_max=None, next_attempt_at=None, gives_up_at=None
    )
    (only,) = ahead_of(endless)
    assert (only.at, only.text.endswith("this is attempt 2")) == (None, True)


async def test_a_partner_is_called_by_its_name(world):
    """In the list and as the title of its page, with its PartyId below."""
    async with client_of(world) as http:
        assert NAME in (await http.get("/console/partners")).text
        page = (await http.get("/console/partner", params={"partner": SELLER})).text
        heading, lead = re.search(r"<h1>(.*?)</h1>\s*<p class=\"lead\">(.*?)</p>", page).groups()
        assert (NAME in heading, SELLER in lead) == (True, True)
        assert "of 6" in page


async def test_an_agreement_says_what_it_means_and_what_the_file_says_otherwise(world):
    """In words, with its longest time, the key that differs, and where its terms are written."""
    async with client_of(world) as http:
        page = (await http.get("/console/agreement?id=tpa-cb-1")).text
        assert "is sent again up to 2 times: the first time after 1 s, then every 2 s." in page
        assert "The file says something else" in page
        assert re.search(r"<code>inquiries</code>.*?>3<.*?>7<", page)
        assert re.search(r'title="\S+gateway.toml:\d+">gateway.toml:', page)
        other = (await http.get("/console/agreement?id=orders-2026")).text
        assert "The file says something else" not in other
        listed = (await http.get("/console/agreements?partner=the+seller+in+the+west")).text
        assert ("orders-2026" in listed, "tpa-cb-1" in listed) == (True, False)
        missing = await http.get("/console/agreement?id=nothing")
        assert missing.status_code == 404


async def test_the_partners_name_stands_in_every_list(world):
    """Messages, the message, the inbox, its item, the journal and the bulk action's samples."""
    pages = await world.pages()
    async with client_of(world) as http:
        for name in ("messages", "delivered", "inbox", "item", "journal"):
            assert NAME in (await http.get(pages[name])).text, name
        found = await http.get("/console/messages?q=to:%22the+seller+in+the+west%22")
        assert (DISTANT in found.text, SELLER in found.text) == (False, True)


async def test_certificates_are_in_a_calendar(world):
    """The one that ends in two days is critical, and says for what it is used."""
    need_openssl()
    async with client_of(world) as http:
        page = (await http.get("/console/certificates")).text
    assert 'class="l-critical"' in page
    assert "CN=buyer" in page
    assert "[tls] certificate: shown to partners" in page


async def test_events_are_passed_through_and_need_the_session(guarded):
    """As the API writes them; without a session as it refuses them."""
    async with client_of(guarded) as http:
        assert (await http.get("/console/events")).status_code == 401
        await post(http, guarded, "/console/sign-in", key=TOKEN)
        async with http.stream("GET", "/console/events") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            lines = stream.aiter_lines()
            assert (await anext(lines)).startswith("retry: ")
            submitted = await guarded.submit(SELLER)
            kind = ""
            # The odd partner goes silent meanwhile, and the stream tells of that too.
            async for line in lines:
                kind = line if line.startswith("event: ") else kind
                if submitted in line:
                    break
            assert kind == "event: verdicts"


async def test_a_look_needs_the_right_to_payloads(guarded):
    """The page is there without it, and says what is missing."""
    made = await guarded.buyer.call("POST", "/v1/keys", json={"name": "reader", "scopes": ["read"]})
    async with client_of(guarded) as http:
        await post(http, guarded, "/console/sign-in", key=made.json["key"])
        for look in ("0", "header"):
            query = {"id": guarded.delivered, "look": look}
            page = await http.get("/console/message", params=query)
            assert page.status_code == 200
            assert "Forbidden: " in page.text
            assert "<pre>" not in page.text


async def test_a_page_takes_few_calls(world):
    """However many messages there are: what a page costs is bounded by what it asks."""
    asked: list[str] = []
    api = world.buyer.parts.api.application(world.buyer.parts.access)

    async def counted(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope["path"])
        await api(scope, receive, send)

    console = Console(counted, now=lambda: datetime.now(UTC), on_bug=lambda *_: None)
    transport = httpx.ASGITransport(console.application())
    async with httpx.AsyncClient(base_url=world.api, transport=transport) as http:
        for name, path in (await world.pages()).items():
            asked.clear()
            await http.get(path)
            assert 1 <= len(asked) <= 8, (name, asked)


async def test_under_tls_cookies_go_over_tls_alone(world):
    """A browser that once came by https never sends them in the clear."""
    api = world.buyer.parts.api.application(world.buyer.parts.access)
    console = Console(api, now=lambda: datetime.now(UTC), on_bug=lambda *_: None)
    transport = httpx.ASGITransport(console.application())
    async with httpx.AsyncClient(base_url="https://127.0.0.1", transport=transport) as http:
        assert "; Secure" in (await http.get("/console/")).headers["set-cookie"]


async def test_assets_are_kept_and_as_strict(world):
    """Their addresses change with their content."""
    async with client_of(world) as http:
        page = (await http.get("/console/")).text
        found = re.findall(r'(?:href|src)="(/console/static/[^"]+)"', page)
        assert len(found) == 3
        for address in found:
            answer = await http.get(address)
            assert answer.status_code == 200
            assert "immutable" in answer.headers["cache-control"]
            assert answer.headers["content-security-policy"]
        assert (await http.get("/console/static/frame.html")).status_code == 404
        assert (await http.get("/console/static/..%2f..%2fpage.py")).status_code == 404


@pytest.mark.parametrize("deed", DEEDS.values(), ids=DEEDS)
async def test_no_deed_is_done_by_a_get(world, deed):
    """A GET shows what would be done."""
    before = len(world.buyer.rows())
    on = {"message": world.doubt, "partner": DISTANT, "item": "1", "job": "invoices-november"}
    async with client_of(world) as http:
        query = urlencode({"on": on.get(deed.subject, ""), "reason": "x", "token": "x"})
        page = await http.get(f"/console/do/{deed.name}?{query}")
    assert page.status_code == 200
    assert deed.effect.split("'", maxsplit=1)[0] in page.text
    assert len(world.buyer.rows()) == before


FOREIGN = [
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
async def test_a_form_of_another_site_is_refused(world, headers):
    """Even if it has found out the token."""
    async with client_of(world) as http:
        token = token_in((await http.get("/console/")).text)
        data = {"token": token, "on": DISTANT, "reason": "x"}
        answer = await http.post("/console/do/suspend", data=data, headers=headers)
    assert answer.status_code == 403
    assert not world.buyer.rows(Event.PAIR_RESUMED)


@pytest.mark.parametrize("token", ["", "0" * 64, "ü"])
async def test_a_form_without_its_token_is_refused(world, token):
    """Also from our own origin."""
    async with client_of(world) as http:
        await http.get("/console/")
        data = {"token": token, "on": DISTANT}
        answer = await http.post("/console/do/resume", data=data, headers={"origin": world.api})
    assert answer.status_code == 403
    assert not world.buyer.rows(Event.PAIR_RESUMED)


async def test_a_token_of_another_browser_is_refused(world):
    """It is bound to a cookie."""
    async with client_of(world) as theirs, client_of(world) as ours:
        token = token_in((await theirs.get("/console/")).text)
        await ours.get("/console/")
        data = {"token": token, "on": DISTANT}
        answer = await ours.post("/console/do/resume", data=data, headers={"origin": world.api})
    assert answer.status_code == 403


async def test_a_name_that_somebody_bound_to_our_address_gets_no_page(world):
    """DNS rebinding: the browser takes his page for one of our origin, but says his name."""
    headers = {"host": "evil.example"}
    async with client_of(world) as http:
        for path in ("/console/", "/console/sign-in", "/console/do/resume", "/console/nowhere"):
            answer = await http.get(path, headers=headers)
            assert (answer.status_code, answer.text[:11]) == (421, "ForeignHost"), path
        answer = await http.post(
            "/console/do/resume", data={}, headers={**headers, "origin": "http://evil.example"}
        )
        assert answer.status_code == 421


async def test_a_form_that_is_too_long_is_refused(world):
    """Before it is read whole."""
    async with client_of(world) as http:
        answer = await post(http, world, "/console/do/suspend", reason="x" * (1 << 17))
    assert answer.status_code == 403
    assert "too long" in answer.text


async def test_a_needed_reason_is_asked_for(world):
    """The page comes again and says so; nothing was done."""
    async with client_of(world) as http:
        answer = await post(http, world, "/console/do/anyway", on=world.doubt, reason="  ")
    assert answer.status_code == 400
    assert "Say why" in answer.text


async def test_what_the_api_refuses_is_told_on_the_page(world):
    """With its name and its reason, and the reason that was typed is still there."""
    async with client_of(world) as http:
        answer = await post(http, world, "/console/do/resend", on=world.delivered, reason=MARKUP)
    assert answer.status_code == 409
    assert "NotResendable" in answer.text
    assert MARKUP not in answer.text
    assert "&lt;img/src=x" in answer.text


async def test_unknown_pages_and_methods_are_told_in_the_frame(world):
    """404 and 405, with the navigation."""
    async with client_of(world) as http:
        missing = await http.get("/console/nowhere")
        assert (missing.status_code, "NotFound" in missing.text) == (404, True)
        assert all(title in missing.text for _, title in NAVIGATION)
        assert (await http.get("/console/sign-out")).status_code == 405
        assert (await http.get("/console/do/format-the-disk")).status_code == 404


async def test_a_list_is_exported_as_it_was_found(world):
    """CSV for spreadsheets, which take nothing in it for a formula; the others for programs."""
    async with client_of(world) as http:
        rows = (await http.get("/console/export?form=csv&q=state:acknowledged")).text.split("\r\n")
        assert rows[0].startswith("message_id,from,to,")
        assert len(rows) == 1 + 6 + 1
        lines = (await http.get("/console/export?form=ndjson")).text.splitlines()
        known = (await world.buyer.get("/v1/messages"))["messages"]
        assert len(lines) == len(known)
        answer = await http.get("/console/export?form=parquet")
        table = pq.read_table(io.BytesIO(answer.content))
        ids = [one["message_id"] for one in known]
        assert sorted(table["message_id"].to_pylist()) == sorted(ids)
        assert answer.headers["content-disposition"] == 'attachment; filename="messages.parquet"'
        assert (await http.get("/console/export?form=csv&q=colour:red")).status_code == 400
        assert (await http.get("/console/export?form=xls")).status_code == 404
        assert (await http.get("/console/export?form=csv&list=keys")).status_code == 404


async def test_inbox_and_journal_are_exported_too(world):
    """The inbox as it is narrowed; of the journal every row."""
    async with client_of(world) as http:
        page = (await http.get("/console/inbox?processing=not-started")).text
        [address] = re.findall(r'href="([^"]+form=parquet[^"]+)"', page)
        found = await http.get(address.replace("&amp;", "&"))
        assert pq.read_table(io.BytesIO(found.content))["offset"].to_pylist() == [3, 2, 1]
        none = await http.get("/console/export?list=inbox&form=ndjson&processing=complete")
        assert none.text == ""
        rows = await http.get("/console/export?list=journal&form=ndjson")
        assert len(rows.text.splitlines()) == len(world.buyer.rows())


async def test_columns_are_chosen_by_the_address(world):
    """Shown, kept by the links of the list, and every one of them has its cell."""
    async with client_of(world) as http:
        for path, names in (("messages", messages.COLUMNS), ("inbox", inbox.COLUMNS)):
            usual = (await http.get(f"/console/{path}")).text
            every = [("columns", one.name) for one in names]
            page = (await http.get(f"/console/{path}", params=every)).text
            for text, shown in ((usual, [one for one in names if one.is_usual]), (page, names)):
                heads = re.findall(r'<th scope="col"[^>]*>([^<]+)</th>', text)
                assert heads == [one.label for one in shown]
            row = page[page.index("<tbody>") : page.index("</tr>", page.index("<tbody>"))]
            assert len(re.findall(r"<td [^>]*data-of=", row)) == len(names)
            few = (await http.get(f"/console/{path}?columns=size,nothing")).text
            assert re.findall(r'<th scope="col"[^>]*>([^<]+)</th>', few) == ["message", "size"]
            chips = few[few.index('<ul class="chips"') : few.index("</ul>", few.index("chips"))]
            assert chips.count("href=") == chips.count("columns=message%2Csize")


async def test_a_report_comes_in_a_sandbox(world):
    """A page is shown, everything else is kept; nothing of either runs or has an origin."""
    async with client_of(world) as http:
        shown = await http.get("/console/report?path=2026-11.html")
        assert shown.headers["content-type"] == "text/html; charset=utf-8"
        assert shown.headers["content-disposition"].startswith("inline; ")
        assert shown.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        kept = await http.get("/console/report?path=plots/latency.svg")
        assert kept.headers["content-disposition"].startswith("attachment; ")
        assert kept.headers["content-security-policy"].startswith("sandbox; ")
        for path in ("../gateway.toml", "", "no.html", "plots", "/etc/passwd"):
            gone = await http.get("/console/report", params={"path": path})
            assert gone.status_code == 404, path


async def test_a_payload_comes_as_the_api_sends_it(world):
    """As an attachment, in a sandbox, never as a page of ours."""
    async with client_of(world) as http:
        answer = await http.get("/console/payload?offset=1&n=0")
        if answer.status_code == 404:
            answer = await http.get("/console/payload?offset=1&n=1")
        assert answer.content == b"<Invoice/>"
        assert answer.headers["content-disposition"] == "attachment"
        assert answer.headers["content-security-policy"] == "sandbox"
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_the_colours_are_kept_in_a_cookie(world):
    """And only the three that exist; the way back is a page of ours."""
    async with client_of(world) as http:
        answer = await post(http, world, "/console/colours", scheme="dark", to="/console/jobs")
        assert answer.headers["location"] == "/console/jobs"
        assert COOKIE.fullmatch(answer.headers["set-cookie"])
        assert 'data-scheme="dark"' in (await http.get("/console/jobs")).text
        for to in ("//evil.example/console/", "https://evil.example/", "/v1/drain", "\\evil"):
            odd = await post(http, world, "/console/colours", scheme="sepia", to=to)
            assert odd.headers["location"] == "/console/"
            assert "set-cookie" not in odd.headers


async def test_a_bug_of_a_page_is_noted_and_told(world, monkeypatch):
    """As the API's own are (R-43); nothing of it is shown."""
    world.buyer.expects_bugs = True
    odd = 'onceonly_messages{status="queued"} 1e999', "text/plain"
    monkeypatch.setattr(world.buyer.parts.operations, "metrics", lambda: odd)
    async with client_of(world) as http:
        answer = await http.get("/console/")
    assert answer.status_code == 500
    assert "Traceback" not in answer.text
    row = await world.buyer.until_row(Event.INTERNAL_ERROR)
    assert "showing a page of the console" in row.reason


class TestSignIn:
    async def test_every_page_asks_for_a_key(self, guarded):
        """And shows nothing before; what is open without a key stays so."""
        pages = await self._paths(guarded)
        async with client_of(guarded) as http:
            for path in pages:
                page = await http.get(path)
                assert page.status_code == 401, path
                assert "<h1>Sign in</h1>" in page.text
                assert "PO-" not in page.text.replace("PO-5001%40", "")
            assert (await http.get("/console/static/console.css")).status_code == 200

    async def _paths(self, guarded: World) -> list[str]:
        return [f"/console/{path}" for path, _ in NAVIGATION] + ["/console/do/resume?on=x"]

    async def test_a_key_opens_and_signing_out_closes(self, guarded):
        """The session is another one than the visitor's, and its name is no use afterwards."""
        async with client_of(guarded) as http:
            answer = await self._sign_in(http, guarded, TOKEN)
            assert (answer.status_code, answer.headers["location"]) == (303, "/console/jobs")
            assert COOKIE.fullmatch(answer.headers["set-cookie"])
            assert (await http.get("/console/jobs")).status_code == 200
            name = http.cookies["onceonly-session"]
            out = await post(http, guarded, "/console/sign-out")
            assert out.status_code == 303
            http.cookies.set("onceonly-session", name, path="/console")
            assert (await http.get("/console/jobs")).status_code == 401

    async def test_the_name_of_a_session_is_never_the_callers_choice(self, guarded):
        """A cookie that somebody planted signs nobody in."""
        async with client_of(guarded) as http:
            http.cookies.set("onceonly-session", "planted", path="/console")
            answer = await self._sign_in(http, guarded, TOKEN)
            assert "planted" not in answer.headers["set-cookie"]

    async def test_wrong_keys_are_answered_alike_and_lock_nobody_out(self, guarded):
        """However many somebody else sends."""
        async with client_of(guarded) as http:
            pages = set()
            for number in range(20):
                answer = await self._sign_in(http, guarded, f"wrong-{number}")
                assert answer.status_code == 401
                pages.add(re.sub(r"<time.*?</time>", "", answer.text))
            assert len(pages) == 1
            assert (await self._sign_in(http, guarded, TOKEN)).status_code == 303

    async def test_a_form_that_names_no_item_is_a_wrong_form(self, guarded):
        """And no bug of ours, which would be noted for whoever has no key, too."""
        async with client_of(guarded) as http:
            page = await http.get("/console/sign-in")
            for on in ("abc", "-1", "9" * 40, "\u0663", ""):
                data = {"token": token_in(page.text), "on": on, "reason": "x"}
                answer = await http.post(
                    "/console/do/complete", data=data, headers={"origin": guarded.api}
                )
                assert 400 <= answer.status_code < 500, (on, answer.status_code)

    async def _sign_in(self, http: httpx.AsyncClient, world: World, key: str) -> httpx.Response:
        page = await http.get("/console/sign-in?to=/console/jobs")
        data = {"token": token_in(page.text), "key": key, "to": "/console/jobs"}
        return await http.post("/console/sign-in", data=data, headers={"origin": world.api})
