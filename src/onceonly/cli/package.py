"""`onceonly package …`: captured packages, explained without a gateway."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

import click

from onceonly.cli.configuration_option import configuration_option, load_configuration
from onceonly.cli.exits import Exit, Failure
from onceonly.cli.fingerprint import find_fingerprint, fingerprint_in
from onceonly.cli.output import is_terminal, output_option, print_json, put, put_bytes, say

HELD_BYTES_MAX: Final = 1 << 20
"""Of stdin in memory; more of it goes into a file without a name."""

PIECE_BYTES: Final = 64 * 1024

ENTRANCES: Final = ("https", "mail", "amqp")


@click.group()
def package() -> None:
    """Captured packages: explain what one is, and what a gateway would answer."""


@package.command()
@click.argument("file", type=click.Path(allow_dash=True, dir_okay=False))
@configuration_option
@click.option(
    "--content-type",
    help="FILE is a bare body or a bare header document of this type.",
)
@click.option(
    "--entrance",
    type=click.Choice(ENTRANCES),
    help="Where it comes in; a mail at mail, all else at https unless this says so.",
)
@click.option(
    "--caller-certificate",
    metavar="FILE|SHA256",
    help="The certificate that the caller shows, in PEM, or its SHA-256 in hexadecimal.",
)
@click.option(
    "--at",
    metavar="INSTANT",
    help="When it comes in, as 2026-01-31T12:00:00Z; now, unless this says so.",
)
@click.option(
    "--of",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="The package that this one acknowledges: whether their References are the same.",
)
@click.option(
    "--certificates-at",
    metavar="INSTANT",
    help="When the partner's certificates have to be valid; at the Timestamp, unless this says so.",
)
@click.option(
    "--payload",
    type=click.IntRange(min=1),
    metavar="N",
    help="Write the bytes of part N to stdout and nothing else there, or to --out.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the bytes of part --payload into this file, which must not exist.",
)
@output_option
def explain(file: str, config: Path | None, output: str, **options: Any) -> None:
    """Say what the captured FILE is, and what a gateway would answer to it.

    FILE (- for stdin) is an HTTP request, an HTTP answer or a mail, each with its header fields; a
    bare body where --content-type says of which type; or a bare header document. With -c it is
    given to a gateway of that configuration, which has an empty store in memory and sends nothing.

    \b
    onceonly package explain request.http
    onceonly package explain request.http -c gateway.toml --caller-certificate buyer.pem
    onceonly package explain mail.eml -c gateway.toml --at 2026-01-31T12:00:00Z
    onceonly package explain ack.http -c gateway.toml --of message.http
    onceonly package explain old.http -c gateway.toml --at 2016-01-31T12:00:00Z
    onceonly package explain body.bin --content-type 'multipart/related; boundary="b"; …'
    onceonly package explain request.http --payload 2 --out order.xml

    0: understood, and with -c it would be accepted; 8: it would be refused, or is of another
    specification; 14: its signature is right, and it would be refused since the certificate was
    not valid at its Timestamp; 2: FILE cannot be read, or nobody can tell what it is.
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    # Read at the use of the command, because --help must stay quick.
    from msgspec import to_builtins  # noqa: PLC0415 - because --help must stay quick

    from onceonly.cli.package_words import lines_of  # noqa: PLC0415 - because --help must stay quick
    from onceonly.explain.explaining import explain as explained  # noqa: PLC0415 - because --help must stay quick

    number = options["payload"]
    if options["out"] is not None and number is None:
        raise click.UsageError("--out takes the bytes of a part: say which by --payload")
    configuration = None if config is None else load_configuration(config)
    around = _circumstances(options)
    with ExitStack() as stack:
        source = stack.enter_context(_opened(file))
        wanted = None
        if number is not None:
            wanted = _wanted(number, stack.enter_context(_taking(options["out"])))
        try:
            found = explained(
                source,
                "stdin" if file == "-" else file,
                content_type=options["content_type"],
                configuration=configuration,
                around=around,
                wanted=wanted,
            )
        except OSError as error:
            raise Failure(Exit.USAGE, f"{file}: {error}") from error
    if number is not None:
        sys.exit(_exit_of_part(next((one for one in found.parts if one.number == number), None)))
    if output == "json":
        print_json(to_builtins(found))
    else:
        for line in lines_of(found):
            put(line)
    sys.exit(_exit_of(found))


def _exit_of(found: Any) -> Exit:
    from onceonly.explain.explanation import fails_by_validity  # noqa: PLC0415 - because --help must stay quick

    verdict = found.verdict.value
    if fails_by_validity(found):
        return Exit.NOT_VALID_THEN
    if verdict == "not-recognised":
        say("give --content-type if it is a bare body or a bare header document")
        return Exit.USAGE
    return Exit.REFUSED if verdict in ("refused", "not-ours") else Exit.OK


def _exit_of_part(part: Any) -> Exit:
    if part is None:
        raise Failure(Exit.NOT_FOUND, "there is no such part, or it is not whole")
    if part.problem is not None:
        raise Failure(Exit.REFUSED, f"part {part.number} is damaged: {part.problem}")
    return Exit.OK


def _circumstances(options: dict[str, Any]) -> Any:
    from onceonly.explain.answering import Circumstances  # noqa: PLC0415 - because --help must stay quick
    from onceonly.explain.explaining import read_beside  # noqa: PLC0415 - because --help must stay quick

    valid_at = options["certificates_at"]
    beside = None
    if options["of"] is not None:
        with _file(options["of"]) as package_of:
            beside = read_beside(package_of)
    return Circumstances(
        _instant_of(options["at"], "--at"),
        options["entrance"],
        _fingerprint_of(options["caller_certificate"]),
        beside,
        None if valid_at is None else _instant_of(valid_at, "--certificates-at"),
    )


def _instant_of(text: str | None, option: str) -> int:
    from onceonly.message.instant import from_datetime  # noqa: PLC0415 - because --help must stay quick

    if text is None:
        return from_datetime(datetime.now(UTC))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.BadParameter(f"{option} is no instant: {error}") from error
    return from_datetime(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _fingerprint_of(given: str | None) -> str | None:
    """Hexadecimal SHA-256 of the certificate, as the listener has it."""
    if given is None:
        return None
    return find_fingerprint(given) or fingerprint_in(Path(given), "--caller-certificate")


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    """The file, so that it can be read more than once."""
    if file != "-":
        with _file(file) as opened:
            if not opened.seekable():
                raise Failure(Exit.USAGE, f"{file} cannot be read twice: give it to stdin, as -")
            yield opened
        return
    with tempfile.SpooledTemporaryFile(HELD_BYTES_MAX) as held:
        stdin = sys.stdin.buffer
        while piece := stdin.read(PIECE_BYTES):
            held.write(piece)
        yield held  # type: ignore[misc]  # because it is one except for its name


def _file(path: str) -> BinaryIO:
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise Failure(Exit.USAGE, f"{path}: {error.strerror}") from error


def _wanted(number: int, take: Callable[[bytes], object]) -> Any:
    from onceonly.explain.explaining import WantedPart  # noqa: PLC0415 - because --help must stay quick

    return WantedPart(number, take)


@contextmanager
def _taking(out: Path | None) -> Iterator[Callable[[bytes], object]]:
    if out is None:
        if is_terminal():
            raise click.UsageError("a part is not written to a terminal: give --out, or a pipe")
        yield put_bytes
        return
    try:
        descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Failure(Exit.USAGE, f"{out}: {error.strerror}") from error
    with os.fdopen(descriptor, "wb") as file:
        yield file.write
