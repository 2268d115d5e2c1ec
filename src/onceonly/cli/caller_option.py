"""Who a command calls as: its key, the certificates that it trusts and shows, and the person."""

import functools
import os
import ssl
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

from onceonly.cli.exits import Exit, Failure
from onceonly.cli.output import say
from onceonly.client import Client, client_tls


class CallsAs(NamedTuple):
    """What the options say; None where they leave it to the configuration."""

    key: str | None = None
    ca: Path | None = None
    certificate: Path | None = None
    certificate_key: Path | None = None
    operator: str | None = None
    reason: str | None = None

    def open(self, api: str, *, token: str | None = None, trusted: Path | None = None) -> Client:
        """A client of the API; `token` and `trusted` are the configuration's.

        Ends the command with exit code 2 for certificates that cannot be used.
        """
        tls = None
        if api.startswith("https:"):
            tls = self._tls(trusted)
        key = self.key or token
        return Client(api, token=key, tls=tls, operator=self.operator, reason=self.reason)

    def open_of(self, settings: Any) -> Client:
        """A client of the gateway with these settings, whose own certificate is trusted."""
        certificate = settings.api_certificate
        return self.open(settings.api, token=settings.api_token, trusted=certificate)

    def _tls(self, trusted: Path | None) -> ssl.SSLContext:
        if self.certificate_key is not None and self.certificate is None:
            raise Failure(Exit.USAGE, "--client-key goes with --client-certificate")
        ca = self.ca or trusted
        try:
            return client_tls(
                ca=ca, client_certificate=self.certificate, client_key=self.certificate_key
            )
        except (OSError, ssl.SSLError) as error:
            named = (ca, self.certificate, self.certificate_key)
            files = " and ".join(str(one) for one in named if one)
            raise Failure(Exit.USAGE, f"{files}: cannot be used: {error}") from error


def caller_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say who calls; gives the command a `CallsAs` as `calls_as`."""

    @click.option(
        "--key-file",
        type=click.Path(dir_okay=False, path_type=Path),
        envvar="ONCEONLY_KEY_FILE",
        help="File with the key of the API.  [env: ONCEONLY_KEY_FILE, or the key itself in "
        "ONCEONLY_API_KEY]",
    )
    @click.option(
        "--ca",
        type=click.Path(dir_okay=False, path_type=Path),
        envvar="ONCEONLY_CA",
        help="PEM file with the certificates to trust, for an https API.",
    )
    @click.option(
        "--client-certificate",
        "certificate",
        type=click.Path(dir_okay=False, path_type=Path),
        envvar="ONCEONLY_CLIENT_CERTIFICATE",
        help="PEM file with the certificate to show.",
    )
    @click.option(
        "--client-key",
        "certificate_key",
        type=click.Path(dir_okay=False, path_type=Path),
        envvar="ONCEONLY_CLIENT_KEY",
        help="PEM file with its private key, if that is in another file.",
    )
    @click.option("--operator", envvar="ONCEONLY_OPERATOR", help="Who asks; goes into the audit.")
    @click.option("--audit-reason", help="Why; goes into the audit.")
    @functools.wraps(command)
    def wrapped(
        key_file: Path | None,
        ca: Path | None,
        certificate: Path | None,
        certificate_key: Path | None,
        operator: str | None,
        audit_reason: str | None,
        **arguments: Any,
    ) -> Any:
        key = key_of(key_file)
        calls_as = CallsAs(key, ca, certificate, certificate_key, operator, audit_reason)
        return command(calls_as=calls_as, **arguments)

    return wrapped


def key_of(file: Path | None) -> str | None:
    """The key in the file, or of the environment. Ends the command where it cannot be read."""
    if file is None:
        return os.environ.get("ONCEONLY_API_KEY") or None
    try:
        text = file.read_text(encoding="utf-8")
        mode = stat.S_IMODE(file.stat().st_mode)
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(Exit.USAGE, f"the key cannot be read: {error}") from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        say(f"warning: others may read {file}; chmod 600 closes it")
    return text.strip()
