"""One post to one webhook: only its status counts, and nothing of the answer is kept or followed.

A redirect is no success: following it would post what was signed for one address to another.
"""

import asyncio
import ssl
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path

import httpx

from onceonly.gateway.certificates import digest_of_file
from onceonly.message.identity import printable
from onceonly.message.word import Word

REASON_LENGTH_MAX = 200


class Posted(Word):
    """How a post ended; `status_code` is None where there was no answer."""

    status_code: int | None
    reason: str | None
    """None if the receiver has the event."""


class Poster:
    """Posts to one webhook. Raises `OSError` if its certificates cannot be used."""

    def __init__(self, url: str, *, trusted: Path | None, timeout_s: int) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self.believed = digest_of_file(trusted)
        """Digest of the certificates that it trusts, to see whether the file changed."""
        try:
            tls = ssl.create_default_context(cafile=trusted)
        except OSError as error:
            raise OSError(f"trusted certificates {trusted} cannot be used: {error}") from error
        tls.minimum_version = ssl.TLSVersion.TLSv1_2
        # Without the environment's proxies, netrc and certificates: only what is configured.
        self._client = httpx.AsyncClient(
            verify=tls, timeout=timeout_s, trust_env=False, follow_redirects=False
        )

    async def post(self, body: bytes, headers: Mapping[str, str]) -> Posted:
        """Post once; whatever becomes of it is an answer, and nothing is raised."""
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                self._client.stream("POST", self._url, content=body, headers=headers) as answer,
            ):
                status = answer.status_code
        except TimeoutError:
            return Posted(None, f"no answer within {self._timeout_s} s")
        except httpx.HTTPError as error:
            text = f"{type(error).__name__}: {error}"
            return Posted(None, printable(text, REASON_LENGTH_MAX))
        if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            return Posted(status, None)
        is_elsewhere = HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST
        also = ", and redirects are not followed" if is_elsewhere else ""
        return Posted(status, f"it answered {status}{also}")

    async def close(self) -> None:
        """Close the connections that are kept open."""
        await self._client.aclose()
