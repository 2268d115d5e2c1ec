"""Every page in headless Chromium, in both colours, on a desk and on a phone."""

from pathlib import Path

import pytest
from tabs import DESK, LOOKS, PHONE, opened_browser, tab_of
from two_gateways import MARKUP

pytestmark = pytest.mark.anyio

PICTURES = Path(__file__).parents[2] / "docs" / "images"
PICTURED = {
    ("light", DESK): ("overview", "message", "in-doubt"),
    ("dark", PHONE): ("overview",),
}
"""Pages whose pictures the documentation shows."""

CHECKED_IN_DARK = (
    *("overview", "messages", "message", "in-doubt", "partner", "keys", "confirm"),
    *("agreement", "certificates"),
)
"""Between them they have every element: axe takes its time, and in dark only colours differ."""


@pytest.mark.parametrize(("scheme", "width"), LOOKS, ids=str)
async def test_every_page_is_whole_accessible_and_inert(world, browser, request, scheme, width):
    """No error in its console, nothing that axe finds, no bar below it, nobody's script runs."""
    axe = pytest.importorskip("axe_playwright_python.async_playwright", reason="axe is missing")
    is_pictured = request.config.getoption("--pictures", default=False)
    checked = {("light", DESK): set(await world.pages()), ("dark", PHONE): CHECKED_IN_DARK}
    faults = {}
    async with tab_of(browser, world.api, scheme, width) as tab:
        for name, path in (await world.pages()).items():
            tab.faults.clear()
            await tab.open(path)
            wrong = list(tab.faults)
            if name in checked.get((scheme, width), ()):
                # Evaluated by the browser's own tool, past the page's policy.
                found = await axe.Axe().run(tab.page)
                wrong += [
                    f"{one['id']}: {one['nodes'][0]['html']}"
                    for one in found.response["violations"]
                ]
            if await tab.has_scroll_bar():
                wrong.append("wider than the screen")
            if await tab.was_taken_over():
                wrong.append("a script of somebody else ran")
            if wrong:
                faults[name] = wrong
            if is_pictured and name in PICTURED.get((scheme, width), ()):
                where = "-phone" if width == PHONE else ""
                await tab.picture(PICTURES / f"console-{name}{where}-{scheme}.png")
    assert not faults


async def test_every_page_works_without_a_script(world, browser):
    """The same content, and the same links and forms."""
    async with (
        tab_of(browser, world.api, java_script_enabled=False) as plain,
        tab_of(browser, world.api) as scripted,
    ):
        for path in [(await world.pages())[name] for name in CHECKED_IN_DARK]:
            await plain.open(path)
            await scripted.open(path)
            for what in ("h1, h2", "main a", "main button, main input"):
                counts = [await tab.page.locator(what).count() for tab in (plain, scripted)]
                assert counts[0] == counts[1], (path, what)


async def test_what_a_partner_wrote_is_shown_as_text(world, browser):
    """Markup in an id, a service and an action is read, not obeyed."""
    async with tab_of(browser, world.api) as tab:
        await tab.open("/console/messages?q=state:failed")
        row = tab.page.locator("tbody tr").first
        text = await row.inner_text()
        assert MARKUP in text
        assert "<script>window.pwned=1</script>" in text
        assert "\\u202eevil\\u202c" in text
        await row.locator("a").click()
        assert MARKUP in await tab.page.locator("h1").inner_text()
        assert not await tab.was_taken_over()
        assert tab.faults == []


async def test_the_policy_stops_what_would_get_through(world, browser):
    """Markup that a bug of ours let through would still run nothing and load nothing."""
    async with tab_of(browser, world.api) as tab:
        await tab.open("/console/")
        await tab.page.evaluate(
            """() => {
                const main = document.querySelector("main");
                main.insertAdjacentHTML("beforeend", "<img src=x onerror='window.pwned=1'>");
                const script = document.createElement("script");
                script.textContent = "window.pwned = 1";
                main.append(script);
            }"""
        )
        assert not await tab.was_taken_over()
        assert any("Content Security Policy" in fault for fault in tab.faults)


async def test_the_switch_wins_over_the_systems_colours(world, browser):
    """And stays."""
    async with tab_of(browser, world.api, "dark") as tab:
        await tab.open("/console/jobs")
        paper = "getComputedStyle(document.body).backgroundColor"
        dark = await tab.page.evaluate(paper)
        await tab.page.get_by_role("button", name="light").click()
        await tab.page.wait_for_load_state()
        assert tab.page.url.endswith("/console/jobs")
        light = await tab.page.evaluate(paper)
        assert light != dark
        await tab.open("/console/system")
        assert await tab.page.evaluate(paper) == light
        assert tab.faults == []


async def test_without_a_browser_the_reason_is_told(monkeypatch):
    """The tests skip where there is no Chromium."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pytest.skip.Exception, match="no Chromium"):
        async with opened_browser():
            raise AssertionError
