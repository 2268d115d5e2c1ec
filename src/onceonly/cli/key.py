"""`onceonly key …`: keys of the API, made, listed and revoked."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from onceonly.api.keys import Key, MadeKey
from onceonly.cli.caller_option import CallsAs, caller_options
from onceonly.cli.configuration_option import configuration_option, load_configuration
from onceonly.cli.exits import Exit, Failure, failure_of
from onceonly.cli.fingerprint import find_fingerprint, fingerprint_in
from onceonly.cli.gateway_option import api_option
from onceonly.cli.output import output_option, print_fields, print_json, print_rows, put, say
from onceonly.client import Client, GatewayUnreachable
from onceonly.message.errors import LocalError, OnceonlyError

T = TypeVar("T")

SCOPES = ("submit", "read", "payloads", "operate", "admin")
COLUMNS = (
    *("name", "scopes", "application", "agreements", "certificate"),
    *("made_at", "last_used_at", "revoked_at"),
)


@click.group()
def key() -> None:
    """Keys of the API: create, list, revoke.

    A running gateway is asked over its API, which takes a key with the scope admin. With -c FILE a
    gateway that does not run has its store changed directly: so the first key is made.

    \b
    onceonly key create console --scope admin -c gateway.toml
    onceonly key list -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart


def _key_command(command: Callable[..., Any]) -> Callable[..., Any]:
    return configuration_option(api_option(caller_options(output_option(command))))


@key.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    type=click.Choice(SCOPES),
    help="What it allows; may be given several times.",
)
@click.option("--application", help="Whose it is; it sees only what is under its agreements.")
@click.option(
    "--agreement", "agreements", multiple=True, help="An agreement of the application's own."
)
@click.option(
    "--certificate",
    "certificate_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="PEM file with a certificate that stands for the key where [api_tls] has trusted.",
)
@click.option("--fingerprint", help="The same by its SHA-256, in hexadecimal.")
@_key_command
def create(
    calls_as: CallsAs,
    config: Path | None,
    api: str | None,
    output: str,
    *,
    certificate_file: Path | None,
    fingerprint: str | None,
    **wanted: Any,
) -> None:
    """Make the key NAME and print it: nobody can tell it again.

    \b
    submit    hand messages over, take them back, say how far their processing is
    read      messages, inbox, notices, jobs and journal
    payloads  the documents themselves
    operate   resend, suspend, resume, ask partners, the audit
    admin     everything, with keys and backups

    \b
    onceonly key create shop --scope submit --scope read --application shop --agreement tpa-ab-1 \\
      -c gateway.toml > shop.key
    onceonly key create shop --scope submit --certificate shop.pem -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    wanted["certificate"] = _certificate(certificate_file, fingerprint)

    def by_gateway(client: Client) -> MadeKey:
        return client.create_key(**wanted)

    def by_us(configuration: Any) -> MadeKey:
        from onceonly.gateway.closed_keys import make_closed  # noqa: PLC0415 - because --help must stay quick
        from onceonly.gateway.keys import WantedKey  # noqa: PLC0415 - because --help must stay quick
        from onceonly.gateway.shapes import made_key_shape  # noqa: PLC0415 - because --help must stay quick

        wanted["agreement_ids"] = wanted.pop("agreements")
        made = make_closed(configuration, WantedKey(**wanted), calls_as.operator, calls_as.reason)
        return made_key_shape(*made)

    made = _done(calls_as, config, api, by_gateway, by_us)
    if output == "json":
        print_json(made)
        return
    say(f"the key {made.name}, which is shown only now:")
    put(made.key)


def _certificate(file: Path | None, fingerprint: str | None) -> str | None:
    if file is not None and fingerprint is not None:
        raise Failure(Exit.USAGE, "--certificate and --fingerprint say the same: give one of them")
    if file is not None:
        return fingerprint_in(file, "--certificate")
    found = None if fingerprint is None else find_fingerprint(fingerprint)
    if fingerprint is not None and found is None:
        text = "--fingerprint is no SHA-256: 64 hexadecimal digits, with or without colons"
        raise Failure(Exit.USAGE, text)
    return found


@key.command("list")
@_key_command
def list_keys(calls_as: CallsAs, config: Path | None, api: str | None, output: str) -> None:
    """List every key that there ever was, without the secrets.

    \b
    onceonly key list -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart

    def by_us(configuration: Any) -> Sequence[Key]:
        from onceonly.gateway.closed_keys import list_closed  # noqa: PLC0415 - because --help must stay quick
        from onceonly.gateway.shapes import key_shape  # noqa: PLC0415 - because --help must stay quick

        return [key_shape(one) for one in list_closed(configuration)]

    found = _done(calls_as, config, api, Client.keys, by_us)
    rows = [{**_members(one)} for one in found]
    print_rows(rows if output == "table" else found, COLUMNS, output)


@key.command()
@click.argument("name")
@_key_command
def revoke(calls_as: CallsAs, config: Path | None, api: str | None, output: str, name: str) -> None:
    """Revoke the key NAME: from now on it opens nothing, and its name is never used again.

    \b
    onceonly key revoke shop --audit-reason "the laptop was stolen" -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart

    def by_us(configuration: Any) -> Key:
        from onceonly.gateway.closed_keys import revoke_closed  # noqa: PLC0415 - because --help must stay quick
        from onceonly.gateway.shapes import key_shape  # noqa: PLC0415 - because --help must stay quick

        return key_shape(revoke_closed(configuration, name, calls_as.operator, calls_as.reason))

    revoked = _done(calls_as, config, api, lambda client: client.revoke_key(name), by_us)
    print_fields(_members(revoked) if output == "table" else revoked, output)


def _members(key: Key) -> dict[str, Any]:
    return {
        "name": key.name,
        "scopes": ", ".join(key.scopes),
        "application": key.application,
        "agreements": ", ".join(key.agreements),
        "certificate": key.certificate,
        "made_at": key.made_at,
        "made_by": key.made_by,
        "last_used_at": key.last_used_at,
        "revoked_at": key.revoked_at,
    }


def _done(
    calls_as: CallsAs,
    config: Path | None,
    api: str | None,
    by_gateway: Callable[[Client], T],
    by_us: Callable[[Any], T],
) -> T:
    """By the gateway if it runs, and otherwise in its store."""
    configuration = None if api is not None else load_configuration(config)
    try:
        opened = calls_as.open(api or "") if api else calls_as.open_of(configuration)
        with opened as client:
            return by_gateway(client)
    except GatewayUnreachable as error:
        if configuration is None:
            raise Failure(Exit.UNREACHABLE, f"the gateway cannot be reached: {error}") from error
    except LocalError as error:
        raise failure_of(error) from error
    say(f"no gateway answers at {configuration.api}; its store is opened from outside")
    try:
        return by_us(configuration)
    except (OnceonlyError, OSError) as error:
        raise failure_of(error) from error
