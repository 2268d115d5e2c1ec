"""A tab of headless Chromium, which notes everything that a page must never do."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

PHONE: Final = 390
DESK: Final = 1280
LOOKS: Final = (("light", DESK), ("dark", DESK), ("light", PHONE), ("dark", PHONE))
PATIENCE_MS: Final = 20_000


@asynccontextmanager
async def opened_browser() -> AsyncIterator[Any]:
    """The system's Chromium under Playwright; skips with the reason where one is missing."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no Chromium on this machine")
    playwright = pytest.importorskip("playwright.async_api", reason="Playwright is not installed")
    async with playwright.async_playwright() as started:
        # Tests in containers are root, for whom Chromium has no sandbox.
        browser = await started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            await browser.close()


class Tab:
    """One page of a browser; `faults` is whatever went wrong in it."""

    def __init__(self, page: Any, api: str) -> None:
        self.page = page
        self.api = api
        self.faults: list[str] = []
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", lambda said: self._note(said.type, said.text))
        page.on("pageerror", lambda error: self.faults.append(f"script: {error}"))
        page.on("request", self._see)

    def _note(self, kind: str, text: str) -> None:
        # The browser also logs the status of a page that is meant to be refused.
        if kind in ("error", "warning") and "status of 4" not in text:
            self.faults.append(f"{kind}: {text}")

    def _see(self, request: Any) -> None:
        if not request.url.startswith(self.api):
            self.faults.append(f"loaded from elsewhere: {request.url}")

    async def open(self, path: str) -> Any:
        """Go to a path of the console."""
        return await self.page.goto(self.api + path)

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.page.keyboard.press(key)

    async def has_scroll_bar(self) -> bool:
        """Whether the page is wider than the screen."""
        wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        return bool(await self.page.evaluate(wide))

    async def was_taken_over(self) -> bool:
        """Whether a script of somebody else ran."""
        return await self.page.evaluate("window.pwned") is not None

    async def picture(self, path: Path) -> None:
        await self.page.screenshot(path=path)


@asynccontextmanager
async def tab_of(
    browser: Any, api: str, scheme: str = "light", width: int = DESK, **more: Any
) -> AsyncIterator[Tab]:
    """A tab of its own, with cookies of its own."""
    context = await browser.new_context(
        color_scheme=scheme, viewport={"width": width, "height": 860}, **more
    )
    try:
        yield Tab(await context.new_page(), api)
    finally:
        await context.close()
