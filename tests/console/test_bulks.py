"""Acting on many messages from a page: chosen, looked at, confirmed by its number, followed."""

import re

import httpx
import pytest
from tabs import tab_of
from two_gateways import DISTANT, two_gateways

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio


@pytest.fixture
async def morning(tmp_path):
    """Gateways of the test's own, since it changes them."""
    async with two_gateways(tmp_path / "world") as made:
        yield made


async def test_search_export_bulk_resend(morning, browser):
    """From the line over the file and the selection to what became of each message."""
    async with tab_of(browser, morning.api) as tab:
        page = tab.page
        await tab.open("/console/messages")
        await page.get_by_label("Find messages").fill(f"to:{DISTANT}")
        await page.get_by_role("button", name="Find").click()
        await page.get_by_text("6 found").wait_for()
        async with page.expect_download() as download:
            await page.get_by_role("link", name="CSV").click()
        written = (await (await download.value).path()).read_text("utf-8")
        assert written.count("\n") == 7
        await page.get_by_role("link", name="Act on all that were found").click()
        await page.locator("#do-resend").check()
        await page.get_by_label("Reason").fill("INC-42")
        await page.get_by_role("button", name="Select the messages").click()
        await page.get_by_role("heading", name="resend: 6 messages").wait_for()
        assert await page.locator("tbody tr").count() == 5
        await page.get_by_label("To begin").fill("7")
        await page.get_by_role("button", name="Begin").click()
        assert "CountDiffers" in await page.get_by_role("alert").inner_text()
        await page.get_by_label("To begin").fill("6")
        await page.get_by_role("button", name="Begin").click()
        await page.get_by_text("2 done, 4 skipped, 0 failed, 0 left").wait_for()
        await page.get_by_role("link", name="Bulk actions").first.click()
        await page.get_by_role("cell", name="INC-42").wait_for()
        assert tab.faults == []
    rows = morning.buyer.rows()
    assert any("INC-42" in (row.reason or "") for row in rows)


async def test_the_inbox_is_handed_over_again(morning, browser):
    """One message by its button, and all that a query line finds by its number."""
    items = (await morning.get("/v1/inbox"))["items"]
    async with tab_of(browser, morning.api) as tab:
        page = tab.page
        await tab.open("/console/item?offset=1")
        await page.get_by_role("link", name="Hand over again").click()
        await page.get_by_text("The application does the work of this message once more").wait_for()
        await page.get_by_label("Reason").fill("restored from last night")
        await page.get_by_role("button", name="Hand over again").click()
        await page.get_by_text("somebody asked for one more hand-over").first.wait_for()
        await page.get_by_role("link", name="Inbox").first.click()
        await page.get_by_text("again", exact=True).wait_for()
        await page.get_by_role("link", name="Act on all of them").click()
        await page.get_by_label("Which messages").fill(f"from:{items[0]['from'][0]}")
        await page.locator("#do-redeliver").check()
        await page.get_by_label("Reason").fill("INC-43")
        await page.get_by_role("button", name="Select the messages").click()
        count = len(items)
        heading = f"redeliver: {count} message" + ("" if count == 1 else "s")
        await page.get_by_role("heading", name=heading).wait_for()
        await page.get_by_label("To begin").fill(str(count))
        await page.get_by_role("button", name="Begin").click()
        await page.get_by_text(f"{count} done, 0 skipped").wait_for()
        await page.locator("tbody").get_by_text("at offset").first.wait_for()
        await page.locator("tbody a[data-row]").first.click()
        await page.get_by_text("Its way").wait_for()
        assert tab.faults == []
    asked = [row for row in morning.buyer.rows() if row.event is Event.HANDED_OVER_AGAIN]
    one, *many = [row.reason for row in asked]
    assert (one, len(many)) == ("restored from last night", count)
    assert all(reason.startswith("INC-43 (bulk action ") for reason in many)


async def test_a_form_that_is_posted_twice_hands_over_once(morning):
    """Two clicks: the second is told of the first. A form without what was seen does nothing."""
    async with httpx.AsyncClient(base_url=morning.api, trust_env=False) as http:
        page = (await http.get("/console/do/redeliver?on=1")).text
        seen = re.search(r'name="seen" value="([0-9]+)"', page)
        assert seen is not None
        fields = {"on": "1", "reason": "restored", "seen": seen[1]}
        answers = [await post(http, morning, "/console/do/redeliver", **fields) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [303, 409]
        assert "AlreadyHandedOver: already handed over again on" in answers[1].text
        unseen = await post(http, morning, "/console/do/redeliver", on="1", reason="x")
        assert unseen.status_code == 403
    asked = [row for row in morning.buyer.rows() if row.event is Event.HANDED_OVER_AGAIN]
    assert len(asked) == 1


async def post(http, world, path, **fields):
    """A form as a browser posts it from a page of ours."""
    token = re.search(r'name="token" value="([0-9a-f]+)"', (await http.get("/console/")).text)
    assert token is not None
    headers = {"origin": world.api}
    return await http.post(path, data={"token": token[1], **fields}, headers=headers)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"q": "state:failed", "do": "ask"}, "Say why"),
        ({"q": "state:failed", "do": "burn", "reason": "x"}, "Invalid enum value"),
        ({"q": "colour:red", "do": "ask", "reason": "x"}, "is no key"),
        ({"q": "state:failed", "do": "redeliver", "reason": "x", "of": "inbox"}, "is no key"),
        ({"q": "processing:often", "do": "redeliver", "reason": "x", "of": "inbox"}, "Invalid"),
        ({"q": "", "do": "redeliver", "reason": "x"}, "is said with"),
    ],
)
async def test_a_form_that_is_wrong_comes_back_with_the_reason(world, fields, said):
    """And nothing is selected."""
    before = len((await world.get("/v1/bulk"))["bulks"])
    async with httpx.AsyncClient(base_url=world.api, trust_env=False) as http:
        answer = await post(http, world, "/console/bulk-prepare", **fields)
    assert (answer.status_code, said in answer.text) == (400, True)
    assert len((await world.get("/v1/bulk"))["bulks"]) == before


async def test_nothing_is_begun_without_the_number_or_a_form_of_ours(world):
    """Also not by a form of another site, or a number that was guessed."""
    async with httpx.AsyncClient(base_url=world.api, trust_env=False) as http:
        for count in ("", "5", "6 or so"):
            answer = await post(http, world, "/console/bulk-start", number="1", count=count)
            assert (answer.status_code, "CountDiffers" in answer.text) == (409, True)
        foreign = {"origin": "https://elsewhere.example"}
        forged = {"number": "1", "count": "6"}
        answer = await http.post("/console/bulk-start", data=forged, headers=foreign)
        assert answer.status_code == 403
        missing = await post(http, world, "/console/bulk-start", number="999", count="6")
        assert missing.status_code == 404
        unknown = await post(http, world, "/console/bulk-burn", number="1", count="6")
        assert unknown.status_code == 404
        assert (await world.get("/v1/bulk/1"))["state"] == "prepared"
        await post(http, world, "/console/bulk-stop", number="1")
        page = (await http.get("/console/bulk?number=1")).text
    assert ("To go on, type" in page, "6 left" in page) == (True, True)
