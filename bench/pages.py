"""How long the console's pages take over a full store, for `bench.growth`; or by itself.

A store as `bench.growth` makes it gets what operators look at: a thousand messages in doubt, two
thousand that wait for suspended partners, fifty thousand that the application has not taken, and a
day on which a hundred thousand messages ended, a thousand of them badly. Each page is asked for
over HTTP, and where there is a Chromium, opened in it: that is when a person sees something.

    python -m bench.pages --messages 1000000
"""

import argparse
import asyncio
import json
import shutil
import time
from pathlib import Path
from statistics import median
from typing import Any

import apsw
import httpx

from onceonly.store.sqlite.queries import SQL

ROUNDS = 5
SEEN_MS_MAX = 1_000
"""A page is seen within a second."""

PAGES = {
    "overview": "",
    "overview, 30 days": "?range=30d",
    "messages": "messages",
    "messages that failed": "messages?q=state:failed",
    "messages settled today": "messages?q=state:failed+settled_since:{midnight}",
    "messages to one": "messages?q=to:urn:duns:222000000",
    "messages that are not": "messages?q=service:None",
    "in doubt": "doubts",
    "inbox": "inbox",
    "inbox, not started": "inbox?processing=not-started",
    "partners": "partners",
    "partner": "partner?partner=urn:duns:222000000",
    "trouble": "trouble",
    "exceptions": "exceptions",
    "bulk actions": "bulks",
    "jobs": "jobs",
    "journal": "journal",
    "reports": "reports",
    "system": "system",
}

PAINTED = """() => new Promise((done) => {
  const seen = (list) => list.getEntriesByName("first-contentful-paint").forEach(
    (one) => done(one.startTime));
  new PerformanceObserver(seen).observe({type: "paint", buffered: true});
})"""
"""When the browser first drew something of the page, in milliseconds after it was asked for."""

TROUBLE = """
UPDATE outbound SET status = 'in_doubt', settled_at = NULL, error_code = 'DeliveryFailure'
  WHERE position % 1000 = 1;
UPDATE outbound SET status = 'queued', settled_at = NULL, attempt = 0, exposure = 'never',
    error_code = NULL
  WHERE position > :messages - 20000
    AND to_party IN (SELECT value FROM json_each(:partners) WHERE key < 20);
UPDATE outbound SET settled_at = :now
  WHERE settled_at > :messages - 100000 OR (status = 'failed' AND position % 1000 = 0);
INSERT OR REPLACE INTO sending_pair (from_party, to_party, status, reason)
  SELECT '{ours}', value, iif(key < 20, 'suspended', 'open'), iif(key < 20, 'operator', NULL)
    FROM json_each(:partners);
UPDATE inbound SET processing = 'not-started' WHERE position > :messages - 50000;
UPDATE store SET
  queued = (SELECT count(*) FROM outbound WHERE status = 'queued'),
  in_doubt = (SELECT count(*) FROM outbound WHERE status = 'in_doubt'),
  acknowledged = (SELECT count(*) FROM outbound WHERE status = 'acknowledged'),
  failed = (SELECT count(*) FROM outbound WHERE status = 'failed')
"""


def make_trouble(path: Path, *, ours: str, partners: list[str], messages: int) -> None:
    """What operators look at, in a store that is full of messages that are over."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000")
    now_us = time.time_ns() // 1000
    values = {"messages": messages, "now": now_us, "partners": json.dumps(partners)}
    connection.execute("BEGIN")
    for statement in TROUBLE.replace("{ours}", ours).split(";\n"):
        connection.execute(statement, values)
    # A gateway would have counted its rows when they were written.
    last = connection.execute("SELECT max(seq) FROM journal").get
    connection.execute(SQL["put_counted_seq"], (last,))
    connection.execute("COMMIT")
    connection.close()


def addresses(api: str) -> dict[str, str]:
    midnight = time.strftime("%Y-%m-%dT00:00:00Z", time.gmtime())
    return {
        name: f"{api}/console/{path.replace('{midnight}', midnight)}"
        for name, path in PAGES.items()
    }


def answered_ms(api: str) -> dict[str, dict[str, float]]:
    """Of each page: the first answer, which nothing is prepared for, and the median of others."""
    found = {}
    with httpx.Client(trust_env=False, timeout=60) as http:
        http.get(f"{api}/healthz")
        for name, address in addresses(api).items():
            took = []
            for _ in range(ROUNDS + 1):
                began = time.perf_counter()
                http.get(address).raise_for_status()
                took.append(round((time.perf_counter() - began) * 1000, 1))
            found[name] = {"first_ms": took[0], "median_ms": median(took[1:])}
    return found


async def seen_ms(api: str) -> dict[str, float]:
    """Of each page: when a browser without anything kept shows something; nothing without one."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.async_api import async_playwright  # noqa: PLC0415 - because the bench does without it
    except ImportError:
        chromium = None
    if chromium is None:
        return {}
    found = {}
    async with async_playwright() as started:
        # The bench may be root, for whom Chromium has no sandbox.
        browser = await started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, address in addresses(api).items():
            context = await browser.new_context(viewport={"width": 1280, "height": 860})
            tab = await context.new_page()
            await tab.goto(address)
            found[name] = round(await tab.evaluate(PAINTED), 1)
            await context.close()
        await browser.close()
    return found


def pages_of(api: str) -> dict[str, dict[str, Any]]:
    """Each page, with everything that was measured of it."""
    answers, seen = answered_ms(api), asyncio.run(seen_ms(api))
    return {name: {**took, "seen_ms": seen.get(name)} for name, took in answers.items()}


def show(found: dict[str, dict[str, Any]]) -> None:
    print(f"{'page':24} {'first':>8} {'median':>8} {'seen':>8}  ms")
    for name, took in found.items():
        seen = took["seen_ms"]
        late = "  too late" if max(took["first_ms"], seen or 0) > SEEN_MS_MAX else ""
        print(f"{name:24} {took['first_ms']:>8} {took['median_ms']:>8} {seen or '-':>8}{late}")


def main() -> None:
    from bench.growth import OURS, PARTNERS, make_store, serving  # noqa: PLC0415 - because it has our figures in its own

    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--messages", type=int, default=1_000_000)
    arguments.add_argument("--store", type=Path, help="one that was made before, and is kept")
    given = arguments.parse_args()
    path = given.store or Path("build/bench-pages") / f"{given.messages}.db"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        make_store(path, given.messages, given.messages)
        make_trouble(path, ours=OURS, partners=PARTNERS, messages=given.messages)
    with serving(path) as (_, api):
        show(pages_of(api))
    if given.store is None:
        shutil.rmtree(path.parent)


if __name__ == "__main__":
    main()
