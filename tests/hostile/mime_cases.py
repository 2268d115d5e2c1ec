"""P1 to P13 of `spec/security.md`: what is wrong with the package around a valid message.

Where the header was read before the fault showed, the partner is known and told by an Error message
(R-25): the answer is 204 with the error's name, and the table counts on that Error.
"""

import gzip
import io
import zipfile

from ground import Attack, Case, Ground, M
from http_cases import Trap
from package_attacks import (
    DELIMITER,
    carrying,
    payload,
    posting,
    rebodied,
    repacked,
    retyped,
    written,
)
from packages import BOUNDARY, Parcel, PayloadPart

ANOTHER_TYPE = b"\r\nContent-Type: a/b"
ANOTHER_ROOT = b"\r\nContent-Type: application/vnd.eb+xml\r\nContent-ID: <h2@a>\r\n\r\n<x/>"
SAME_DOCUMENT = (
    "    <DocumentReference><DocumentId>cid:po-1@a.example.com</DocumentId></DocumentReference>\n"
)
PART_ID = b"Content-ID: <po-1@a.example.com>"
TOLD = "the header was read, so the partner is told by an Error message, not by a status (R-25)"


def parts(count: int) -> bytes:
    """So many empty parts."""
    return b"".join(
        b"%s\r\nContent-ID: <x-%d@a>\r\n\r\n" % (DELIMITER, number) for number in range(count)
    )


def with_parts(count: int) -> Attack:
    """That many of them behind the header."""
    end = DELIMITER + b"--\r\n"
    return rebodied(lambda body: body.removesuffix(end) + parts(count) + end)


def nested(depth: int) -> bytes:
    """Multiparts in multiparts."""
    opening = b"".join(
        b"--b%d\r\nContent-Type: multipart/mixed; boundary=b%d\r\n\r\n" % (n, n + 1)
        for n in range(depth)
    )
    return b"Content-Type: multipart/mixed; boundary=b0\r\n\r\n" + opening


async def fetching(ground: Ground) -> str:
    """A manifest that points to a server of ours: nobody comes."""
    async with Trap() as trap:
        answer = await written(("cid:po-1@a.example.com", trap.uri))(ground)
        assert trap.visits == 0
        return answer


async def named_like_a_path(ground: Ground) -> str:
    """The label of a document is shown and is never a place."""
    answer = await written(("../../etc/passwd", "../../etc/cron.d/x"))(ground)
    await ground.gateway.until(lambda: M in ground.delivered())
    items = (await ground.gateway.get("/v1/inbox"))["items"]
    (item,) = [one for one in items if one["message_id"] == M]
    assert item["payloads"][0]["name"] == "../../etc/cron.d/x"
    assert item["payloads"][0]["href"].startswith("/v1/")
    assert ".." not in item["payloads"][0]["href"]
    return answer


def bombs() -> bytes:
    """A zip of a gzip of ten megabytes of nothing."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.gz", gzip.compress(bytes(10_000_000), mtime=0))
    return made.getvalue()


def alike(ground: Ground) -> Parcel:
    """Two parts, and a manifest whose only URI is the one as it stands, the other decoded."""
    payloads = [PayloadPart("po-1@a", "a/b", b"x"), PayloadPart("po%2D1@a", "a/b", b"y")]
    one = "<DocumentReference><DocumentId>cid:po%2D1@a</DocumentId></DocumentReference>"

    def edit(document: str) -> str:
        start, end = document.index("<Manifest>"), document.index("</Manifest>")
        return f"{document[:start]}<Manifest>{one}{document[end:]}"

    return ground.attacker.normal(M, 1, payloads=payloads, edit=edit)


LAUGHS = b'<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;">]><a>&c;</a>'


def many_payloads(ground: Ground) -> Parcel:
    """All of them in the manifest."""
    payloads = [PayloadPart(f"x-{number}@a", "a/b", b"x") for number in range(100)]
    return ground.attacker.normal(M, 1, payloads=payloads)


def labelled(ground: Ground) -> Parcel:
    """A label of ten kilobytes."""
    return ground.attacker.normal(
        M, 1, edit=lambda document: document.replace("../../etc/passwd", "x" * 10_240)
    )


def encoded(encoding: bytes, content: bytes) -> Attack:
    """The payload under this Content-Transfer-Encoding."""

    def package(ground: Ground) -> Parcel:
        kind, body = ground.attacker.normal(M, 1, payloads=(payload(content),))
        line = b"Content-Transfer-Encoding: " + encoding + b"\r\n" + PART_ID
        return Parcel(kind, body.replace(PART_ID, line))

    return posting(package)


CASES = [
    Case("P1", "10^5 parts", with_parts(100_000), "204 MimeProblem", "Manifest", why=TOLD),
    Case(
        "P1",
        "101 parts in the manifest",
        posting(many_payloads),
        "204 MessageTooLarge",
        "too many parts",
        why=TOLD,
    ),
    Case(
        "P2",
        "a header part that is a multipart",
        repacked((b"Content-Type: application/vnd.eb+xml", b"Content-Type: multipart/mixed")),
        "400 MimeProblem",
        "not the header",
    ),
    Case(
        "P2",
        "2,000 multiparts in a payload",
        carrying(payload(nested(2_000), "multipart/mixed")),
        "204",
        delivered=1,
        why="a payload is opaque: there is nothing to go down into",
    ),
    Case(
        "P3",
        "20,000 continuations of the boundary",
        retyped("boundary=", "".join(f"b*{n}=x; " for n in range(20_000)) + "boundary="),
        "431 HeadTooLarge",
        why="the whole head has 16 KiB at most",
    ),
    Case(
        "P3",
        "70 continuations of the boundary",
        retyped("boundary=", "".join(f"b*{n}=x; " for n in range(70)) + "boundary="),
        "413 MessageTooLarge",
        "too many parameters",
    ),
    Case(
        "P3",
        "continuations in a part's head",
        repacked(
            (
                b"Content-Type: application/xml",
                b"Content-Type: application/xml" + b"".join(b";p*%d=x" % n for n in range(65)),
            )
        ),
        "204",
        delivered=1,
        why="R-42: what a payload's type says is not used; it is carried as far as there is room",
    ),
    Case(
        "P4",
        "no terminator",
        rebodied(lambda body: body.replace(DELIMITER + b"--\r\n", b"")),
        "204 MimeProblem",
        "without the final boundary",
        why=TOLD,
    ),
    Case(
        "P4",
        "cut in the header",
        rebodied(lambda body: body[:700]),
        "400 MimeProblem",
        "without the final boundary",
    ),
    Case(
        "P5",
        "the boundary in a payload",
        carrying(payload(b"a" + DELIMITER + b"\r\nb")),
        "204 MimeProblem",
        why=TOLD,
    ),
    Case(
        "P5",
        "the boundary begins a longer one in a payload",
        carrying(payload(b"a" + DELIMITER + b"-longer\r\nb" + DELIMITER + b"x--\r\n")),
        "204",
        delivered=1,
        why="a delimiter is a whole line (RFC 2046 §5.1.1)",
    ),
    Case("P5", "a boundary of 71 characters", retyped(BOUNDARY, "b" * 71), "400 MimeProblem"),
    Case("P5", "a boundary with CR", retyped(BOUNDARY, "a\rb"), "400 MalformedHead"),
    Case("P5", "a boundary with a quote", retyped(BOUNDARY, 'a\\"b'), "400 MimeProblem"),
    Case(
        "P6",
        "two Content-Types",
        repacked((b"\r\nContent-ID", ANOTHER_TYPE + b"\r\nContent-ID")),
        "400 MimeProblem",
        "content-type twice",
    ),
    Case(
        "P6",
        "two Content-IDs",
        repacked((PART_ID, PART_ID + b"\r\n" + PART_ID)),
        "204 MimeProblem",
        "content-id twice",
        why=TOLD,
    ),
    Case(
        "P6",
        "one Content-ID for two parts",
        rebodied(
            lambda body: body.replace(
                DELIMITER + b"--\r\n",
                DELIMITER + b"\r\n" + PART_ID + b"\r\n\r\nother" + DELIMITER + b"--\r\n",
            )
        ),
        "204 MimeProblem",
        "two parts with one Content-ID",
        why=TOLD,
    ),
    Case(
        "P6",
        "two roots",
        rebodied(
            lambda body: body.replace(
                DELIMITER + b"--\r\n", DELIMITER + ANOTHER_ROOT + DELIMITER + b"--\r\n"
            )
        ),
        "204 MimeProblem",
        "Manifest",
        why=TOLD,
    ),
    Case("P6", "start names no part", retyped("hdr-0001", "hdr-0002"), "400 MimeProblem"),
    Case("P6", "start names another part", retyped("hdr-0001", "po-1"), "400 MimeProblem"),
    Case(
        "P6",
        "the header is not first",
        rebodied(
            lambda body: body.replace(
                f"--{BOUNDARY}\r\n".encode(),
                f"--{BOUNDARY}\r\nContent-ID: <first@a>\r\n\r\nx\r\n--{BOUNDARY}\r\n".encode(),
                1,
            )
        ),
        "400 MimeProblem",
        "not the header",
    ),
    Case(
        "P7",
        "another case",
        repacked((PART_ID, PART_ID.replace(b"<po", b"<PO"))),
        "204 MimeProblem",
        "Manifest",
        why=TOLD,
    ),
    Case(
        "P7",
        "%-encoded in the manifest",
        written(("cid:po-1", "cid:po%2D1")),
        "204",
        delivered=1,
        why="R-42 reads it (RFC 2392) where no second part could be meant",
    ),
    Case(
        "P7",
        "%-encoded in the manifest, and two parts that it could mean",
        posting(alike),
        "204 MimeProblem",
        "names two parts",
        why=TOLD,
    ),
    Case(
        "P7",
        "%-encoded twice",
        written(("cid:po-1", "cid:po%252D1")),
        "204 MimeProblem",
        "Manifest",
        why=TOLD,
    ),
    Case(
        "P7",
        "%-encoded in the part",
        repacked((PART_ID, PART_ID.replace(b"<po-", b"<po%2D"))),
        "204 MimeProblem",
        "Manifest",
        why=TOLD,
    ),
    Case("P8", "a document at a server", fetching, "204 MimeProblem", "cid:", why=TOLD),
    Case(
        "P8",
        "a document in a file",
        written(("cid:po-1@a.example.com", "file:///etc/passwd")),
        "204 MimeProblem",
        "cid:",
        why=TOLD,
    ),
    Case(
        "P8",
        "a document that is not there",
        written(("cid:po-1", "cid:po-2")),
        "204 MimeProblem",
        "Manifest",
        why=TOLD,
    ),
    Case(
        "P8",
        "one document twice",
        written(("  </Manifest>", SAME_DOCUMENT + "  </Manifest>")),
        "204 MimeProblem",
        "twice",
        why=TOLD,
    ),
    Case("P9", "base64 with junk", encoded(b"base64", b"QQ*=="), "204 MimeProblem", why=TOLD),
    Case(
        "P9",
        "quoted-printable with junk",
        encoded(b"quoted-printable", b"=4\xff"),
        "204 MimeProblem",
        "quoted-printable",
        why=TOLD,
    ),
    Case(
        "P9",
        "a frame with two kinds of line ends",
        rebodied(lambda body: body.replace(DELIMITER + b"--\r\n", DELIMITER[1:] + b"--\n")),
        "204 MimeProblem",
        "one kind of line end",
        why=TOLD,
    ),
    Case(
        "P9",
        "a frame with LF line ends",
        rebodied(lambda body: body.replace(b"\r\n", b"\n")),
        "204",
        delivered=1,
        why="R-42 reads it: one kind of line end, as the first delimiter line has it",
    ),
    Case("P9", "uuencode", encoded(b"uuencode", b"#86)C"), "204 MimeProblem", why=TOLD),
    Case("P9", "eight bits in seven", encoded(b"7bit", b"\xff"), "204 MimeProblem", why=TOLD),
    Case(
        "P10",
        "a preamble of 1 MiB",
        rebodied(lambda body: bytes(1 << 20) + b"\r\n" + body),
        "204",
        delivered=1,
        why="skipped as it comes; the package's limit counts it",
    ),
    Case(
        "P10",
        "a preamble of 24 MiB",
        rebodied(lambda body: bytes(24 << 20) + b"\r\n" + body),
        "413 MessageTooLarge",
    ),
    Case(
        "P10",
        "an epilogue of 24 MiB",
        rebodied(lambda body: body + bytes(24 << 20)),
        "204",
        delivered=1,
        why="skipped as it comes; the package's limit counts it",
    ),
    Case(
        "P10",
        "an epilogue beyond the limit",
        rebodied(lambda body: body + bytes(3 << 20)),
        "413 MessageTooLarge",
        "at most",
        gateway=(("payload_bytes_max", 100_000),),
    ),
    Case("P11", "a label that is a path", named_like_a_path, "204", delivered=1),
    Case("P11", "a label of ten kilobytes", posting(labelled), "204 ValueNotRecognized", why=TOLD),
    Case(
        "P11",
        "NUL in a file name",
        repacked((PART_ID, b'Content-Disposition: attachment; filename="a\0b"\r\n' + PART_ID)),
        "204",
        delivered=1,
        why="R-42: nobody reads Content-Disposition, so nothing of it refuses",
    ),
    Case(
        "P11",
        "NUL in a Content-ID",
        repacked((PART_ID, PART_ID.replace(b"po-1", b"po\0-1"))),
        "204 MimeProblem",
        "control character",
        why=TOLD,
    ),
    Case(
        "P11",
        "a drive in a file name",
        repacked((PART_ID, b'Content-Disposition: attachment; filename="C:\\x"\r\n' + PART_ID)),
        "204",
        delivered=1,
        why="nobody reads Content-Disposition",
    ),
    Case("P12", "utf-7", repacked((b'charset="utf-8"', b'charset="utf-7"')), "415 NotSupported"),
    Case(
        "P12",
        "a charset that is not the declaration's",
        repacked((b'charset="utf-8"', b'charset="utf-16"')),
        "415 NotSupported",
    ),
    Case("P13", "a zip bomb", carrying(payload(bombs(), "application/zip")), "204", delivered=1),
    Case(
        "P13",
        "laughs in a payload",
        carrying(payload(LAUGHS, "application/xml")),
        "204",
        delivered=1,
    ),
]
