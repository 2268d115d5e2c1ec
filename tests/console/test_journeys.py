"""What operators come for, from the first page to the end, in headless Chromium."""

import pytest
from peer import NO_CONTENT
from tabs import DESK, tab_of
from two_gateways import DISTANT, SELLER, TOKEN, World, two_gateways

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio


@pytest.fixture
async def morning(tmp_path):
    """Gateways of the test's own, since a journey changes them."""
    async with two_gateways(tmp_path / "world") as made:
        yield made


async def back(world: World) -> None:
    """The partner is there again, and answers."""
    while world.peer.has_unheard():
        await world.peer.hear()
    world.peer.answer_always = NO_CONTENT


async def test_find_a_stuck_message_and_settle_it(morning, browser):
    """From the number on the first page, over its evidence, to an acknowledgement."""
    async with tab_of(browser, morning.api) as tab:
        page = tab.page
        await tab.open("/console/")
        await page.get_by_role("link", name="1 in doubt").click()
        await page.get_by_role("link", name=morning.doubt).click()
        assert "perhaps delivered" in await page.locator("main").inner_text()
        await back(morning)
        await page.get_by_role("link", name="Send identical again").first.click()
        await page.get_by_label("Reason").fill("the partner is back")
        await page.get_by_role("button", name="Send identical again").click()
        await page.get_by_role("status").wait_for()
        arrival = await morning.peer.hear("Normal")
        assert arrival.message_id == morning.doubt
        await morning.peer.acknowledge(arrival.message_id)
        await morning.buyer.until_state(morning.doubt, "acknowledged")
        await page.get_by_text("the partner has it, once").wait_for()
        assert tab.faults == []


@pytest.mark.parametrize(
    ("button", "state", "next_button"),
    [
        ("Settle: delivered", "settled: delivered", "Send as new anyway"),
        ("Settle: not delivered", "settled: not delivered", "Send identical again"),
    ],
    ids=["delivered", "not delivered"],
)
async def test_find_a_stuck_message_and_settle_it_by_a_word(
    morning, browser, button, state, next_button
):
    """Its partner was asked by telephone: a reason is needed, and the doubt is over everywhere."""
    async with tab_of(browser, morning.api) as tab:
        page = tab.page
        await tab.open("/console/")
        await page.get_by_role("link", name="1 in doubt").click()
        await page.get_by_role("link", name=button, exact=True).click()
        await page.get_by_role("button", name=button).click()
        assert morning.buyer.rows(Event.SETTLED) == []
        await page.get_by_label("Reason").fill("their clerk looked")
        await page.get_by_role("button", name=button).click()
        await page.get_by_role("status").wait_for()
        lead = await page.locator("p.lead").inner_text()
        assert state in lead
        assert "their clerk looked" in await page.locator("main").inner_text()
        assert await page.get_by_role("link", name=next_button).count() == 1
        assert await page.get_by_role("link", name="Settle:").count() == 0
        await tab.open("/console/doubts")
        assert "No message is in doubt" in await page.locator("main").inner_text()
        await tab.open("/console/audit")
        assert "settleMessage" in await page.locator("tbody tr").first.inner_text()
        assert tab.faults == []
    [row] = morning.buyer.rows(Event.SETTLED)
    assert (row.message_id, row.reason) == (morning.doubt, "their clerk looked")


async def test_all_doubts_are_settled_from_the_desk(morning, browser):
    """The selection is looked at first, and confirmed by its number."""
    async with tab_of(browser, morning.api) as tab:
        page = tab.page
        await tab.open("/console/doubts")
        await page.get_by_role("link", name="Act on all doubts").click()
        await page.locator("#do-settle-delivered").check()
        await page.get_by_label("Reason").fill("INC-42")
        await page.get_by_role("button", name="Select the messages").click()
        await page.get_by_role("heading", name="settle-delivered: 1 message").wait_for()
        await page.get_by_label("To begin").fill("1")
        await page.get_by_role("button", name="Begin").click()
        await page.get_by_text("1 done, 0 skipped, 0 failed, 0 left").wait_for()
        assert tab.faults == []
    assert morning.buyer.state_of(morning.doubt) == "settled_delivered"


async def test_the_partner_is_back_and_is_resumed(morning, browser):
    """What had waited goes out, in its order."""
    async with tab_of(browser, morning.api) as tab:
        page = tab.page
        await tab.open("/console/partners")
        await page.get_by_role("link", name=DISTANT).click()
        await back(morning)
        await page.get_by_role("link", name="Resume", exact=True).click()
        await page.get_by_role("button", name="Resume").click()
        await page.get_by_role("status").wait_for()
        first = await morning.peer.hear("Normal")
        assert first.message_id == morning.doubt
        await morning.peer.acknowledge(first.message_id)
        # On a clock that is fifty times as fast the first is perhaps on the line once more.
        second = await morning.peer.hear("Normal")
        while second.message_id == first.message_id:
            second = await morning.peer.hear("Normal")
        assert second.message_id == "PO-5002@buyer.example"
        assert [row.reason for row in morning.buyer.rows(Event.PAIR_RESUMED)]
        await tab.open("/console/audit")
        assert "resume" in await page.locator("tbody tr").first.inner_text()
        assert tab.faults == []


async def test_a_partner_is_suspended_with_a_reason(morning, browser):
    """The reason is in the journal, and in the audit."""
    async with tab_of(browser, morning.api) as tab:
        page = tab.page
        await tab.open(f"/console/partner?partner={SELLER}")
        await page.get_by_role("link", name="Suspend").click()
        await page.get_by_label("Reason").fill("their maintenance <b>tonight</b>")
        await page.get_by_role("button", name="Suspend").click()
        await page.get_by_role("status").wait_for()
        await tab.open("/console/audit")
        assert "their maintenance <b>tonight</b>" in await page.locator("tbody").inner_text()
        assert morning.buyer.rows(Event.PAIR_SUSPENDED)[-1].reason.startswith("their maintenance")
        assert tab.faults == []


async def test_search_and_export(morning, browser):
    """The query line, its chips, and what was found as a file."""
    async with tab_of(browser, morning.api) as tab:
        page = tab.page
        await tab.open("/console/messages")
        await page.get_by_label("Find messages").fill(f"to:{DISTANT}")
        await page.get_by_role("button", name="Find").click()
        await page.get_by_role("link", name="queued").click()
        assert await page.locator("tbody tr").count() == 4
        async with page.expect_download() as download:
            await page.get_by_role("link", name="CSV").click()
        file = await (await download.value).path()
        assert len(file.read_text().splitlines()) == 1 + 4
        await page.get_by_label("Find messages").fill("colour:red")
        await page.keyboard.press("Enter")
        assert "is no key" in await page.get_by_role("alert").inner_text()
        await page.get_by_label("Find messages").fill(morning.delivered)
        await page.keyboard.press("Enter")
        await page.get_by_role("heading", name=morning.delivered).wait_for()
        assert tab.faults == []


async def test_a_job_is_released(morning, browser):
    """Its rows become messages, and its page says so by itself."""
    async with tab_of(browser, morning.api) as tab:
        page = tab.page
        await tab.open("/console/jobs")
        await page.get_by_role("link", name="invoices-november").click()
        await page.get_by_role("link", name="Release").click()
        await page.get_by_role("button", name="Release").click()
        await page.get_by_text("4 acknowledged").wait_for()
        assert tab.faults == []


async def test_by_the_keyboard_alone(morning, browser):
    """Skip link, query line, rows, buttons: no mouse from the first page to the deed."""
    async with tab_of(browser, morning.api) as tab:
        page = tab.page
        await tab.open("/console/")
        await tab.press("Tab")
        assert await page.evaluate("document.activeElement.textContent") == "Skip to the content"
        await tab.press("Enter", "/")
        await page.wait_for_url("**/messages#q")
        await page.keyboard.type("state:queued")
        await tab.press("Enter")
        await page.wait_for_url("**/messages?q=*")
        await tab.press("j", "j", "k", "j", "Enter")
        await page.get_by_role("heading", name="PO-5004@buyer.example").wait_for()
        await page.get_by_role("link", name="Take it back").focus()
        shown = "getComputedStyle(document.activeElement).outlineStyle"
        await tab.press("Enter")
        await page.get_by_role("button", name="Take it back").focus()
        await tab.press("Shift+Tab", "Tab")
        assert await page.evaluate(shown) == "solid"
        await tab.press("Enter")
        await page.get_by_role("status").wait_for()
        assert morning.buyer.state_of("PO-5004@buyer.example") == "cancelled"
        assert tab.faults == []


@pytest.mark.parametrize("has_script", [True, False])
async def test_columns_are_chosen_by_the_keyboard(world, browser, has_script):
    """With and without a script; what is found stays, and so does the choice on the next page."""
    async with tab_of(browser, world.api, java_script_enabled=has_script) as tab:
        page = tab.page
        await tab.open("/console/messages?q=state:acknowledged")
        await page.locator("details.columns summary").focus()
        await tab.press("Enter")
        await page.get_by_role("checkbox", name="conversation").focus()
        await tab.press("Space")
        await page.get_by_role("checkbox", name="tries").focus()
        await tab.press("Space")
        if has_script:
            axe = pytest.importorskip("axe_playwright_python.async_playwright")
            assert (await axe.Axe().run(page)).response["violations"] == []
        await page.get_by_role("button", name="Show these").focus()
        await tab.press("Enter")
        await page.get_by_role("columnheader", name="conversation").wait_for()
        heads = await page.get_by_role("columnheader").all_inner_texts()
        assert heads == [
            *("state", "message", "to", "service, action", "conversation", "submitted", "size")
        ]
        assert await page.locator("tbody tr").count() == 6
        await page.get_by_role("link", name="failed", exact=True).click()
        await page.get_by_text("1 found").wait_for()
        assert await page.get_by_role("columnheader").all_inner_texts() == heads
        await page.locator("details.columns summary").click()
        await page.get_by_role("link", name="The usual ones").click()
        await page.get_by_role("columnheader", name="tries").wait_for()
        assert tab.faults == []


async def test_a_report_is_opened_and_nothing_of_it_runs(world, browser):
    """From its line with the verdicts to its page, whatever somebody wrote into it."""
    async with tab_of(browser, world.api) as tab:
        page = tab.page
        await tab.open("/console/reports")
        row = page.get_by_role("row", name="2026-11.html")
        assert "2 differences" in await row.inner_text()
        await row.get_by_role("link").click()
        await page.get_by_role("heading", name="Did the promise hold?").wait_for()
        assert not await tab.was_taken_over()
        assert await page.evaluate("window.origin") == "null"
        await page.go_back()
        await page.get_by_text("third quarter").click()
        async with page.expect_download() as download:
            await page.get_by_role("link", name="SHA256SUMS").click()
        assert (await download.value).suggested_filename == "SHA256SUMS"


async def test_a_page_keeps_itself_up_to_date(morning, browser):
    """Without a reload: what is acknowledged meanwhile is seen."""
    async with tab_of(browser, morning.api) as tab:
        page = tab.page
        states = page.get_by_role("region", name="Messages by state")
        await tab.open("/console/")
        await states.get_by_text("6 acknowledged").wait_for()
        message_id = await morning.submit(SELLER)
        await morning.buyer.until_state(message_id, "acknowledged")
        await states.get_by_text("7 acknowledged").wait_for()
        assert tab.faults == []


async def test_sign_in_and_out(guarded, browser):
    """From a link to a page, over the key, to that page; and out again."""
    async with tab_of(browser, guarded.api, width=DESK) as tab:
        page = tab.page
        await tab.open("/console/jobs")
        await page.get_by_label("Key").fill("wrong")
        await page.get_by_role("button", name="Sign in").click()
        assert "not a key" in await page.get_by_role("alert").inner_text()
        await page.get_by_label("Key").fill(TOKEN)
        await page.get_by_role("button", name="Sign in").click()
        await page.get_by_role("heading", name="Jobs").wait_for()
        assert await page.evaluate("document.cookie") == ""
        await page.get_by_role("button", name="Sign out").click()
        await page.get_by_role("heading", name="Sign in").wait_for()
        await tab.open("/console/jobs")
        await page.get_by_role("heading", name="Sign in").wait_for()
        assert tab.faults == []


async def test_give_a_key_to_an_application(guarded, browser):
    """Made, shown once, used, and revoked; every page of an application is its own."""
    async with tab_of(browser, guarded.api) as tab:
        page = tab.page
        await tab.open("/console/keys")
        await page.get_by_label("Key").fill(TOKEN)
        await page.get_by_role("button", name="Sign in").click()
        await page.get_by_label("Name of the key").fill("shop-2026")
        await page.locator("#s-read").check()
        await page.get_by_label("Application (if").fill("shop")
        await page.get_by_label("Its agreements").fill("orders-2026")
        await page.get_by_role("button", name="Make the key").click()
        secret = await page.locator("[data-secret]").inner_text()
        await tab.open("/console/keys")
        assert secret not in await page.content()
        async with tab_of(browser, guarded.api) as theirs:
            await theirs.open("/console/messages")
            await theirs.page.get_by_label("Key").fill(secret)
            await theirs.page.get_by_role("button", name="Sign in").click()
            await theirs.page.get_by_role("heading", name="Messages").wait_for()
            assert await theirs.page.locator("tbody tr").count() == 6
            await theirs.open("/console/partners")
            assert "Forbidden" in await theirs.page.locator("main").inner_text()
            await page.get_by_role("link", name="Revoke shop-2026").click()
            await page.get_by_role("button", name="Revoke").click()
            await page.get_by_role("status").wait_for()
            await theirs.open("/console/messages")
            await theirs.page.get_by_role("heading", name="Sign in").wait_for()
        assert tab.faults == []


async def test_a_page_is_renewed_by_what_happens(morning, browser):
    """By the stream of events alone: the clock of the page asks for nothing here."""
    async with tab_of(browser, morning.api) as tab:
        page = tab.page
        await page.add_init_script("window.setInterval = () => 0;")
        async with page.expect_response("**/console/events"):
            await tab.open("/console/messages?q=state:acknowledged")
        await page.get_by_text("6 found").wait_for()
        await morning.submit(SELLER)
        await page.get_by_text("7 found").wait_for()
        assert tab.faults == []
