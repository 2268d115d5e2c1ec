"""X1 to X17 of `spec/security.md`: what is wrong with the header document.

What no parser has seen whole names nobody: the answer is a status. What was read and refused for
its values is told to the partner by an Error message (R-25), and the answer is 204 with its name.
"""

import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from ground import Attack, Case, Ground, M
from http_cases import Trap
from package_attacks import documented, posting, repacked, written
from packages import Parcel, error_list

TOLD = "the header was read, so the partner is told by an Error message, not by a status (R-25)"
SKIPPED = "an element that nobody knows is skipped (wire.md A12), and nothing is fetched"
CHARSET = b'charset="utf-8"'
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
LOCATED = 'xmlns:s="http://www.w3.org/2001/XMLSchema-instance"'
ROOT = "<ebXMLHeader"
END = "</ebXMLHeader>"
FIRST = f"<MessageId>{M}</MessageId>"
NUMBER = "<SequenceNumber>000000001</SequenceNumber>"
TYPE = "application/vnd.eb+xml"

NASTY = (
    "';DROP TABLE messages;--",
    "${jndi:ldap://x/y}",
    "{{7*7}}",
    "<b>&amp;</b>",
    "*)(uid=*))(|(uid=*",
    "' or '1'='1",
    "%0d%0aX: y",
    "__import__('os')",
)
"""SQL, lookups, templates, markup, LDAP, XPath, escaped line ends, code."""


def doctype(text: str) -> Attack:
    """A document with this in front of its root."""
    return written((ROOT, f"{text}\n{ROOT}"))


def laughs(depth: int) -> str:
    """Entities that multiply."""
    lines = [f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(depth)]
    return f'<!DOCTYPE r [<!ENTITY l0 "ha">{"".join(lines)}]>'


def inside(text: str) -> Attack:
    """A document with this at the end of its root, where extensions stand."""
    return written((END, text + END))


def attributes(count: int) -> str:
    """An element with so many."""
    return "<a " + " ".join(f"a{n}=''" for n in range(count)) + "/>"


def unvisited(make: Callable[[str], Attack]) -> Attack:
    """An attack made of the address of a trap, where nobody comes."""

    async def attack(ground: Ground) -> str:
        async with Trap() as trap:
            answer = await make(trap.uri)(ground)
            assert trap.visits == 0
            return answer

    return attack


def encoded_as(codec: str, charset: str | None = None, declared: str = "") -> Attack:
    """The document in another encoding, under this charset parameter."""

    async def attack(ground: Ground) -> str:
        def make(document: str) -> bytes:
            return document.replace(DECLARATION, declared).encode(codec)

        if charset is None:
            return await documented(make)(ground)
        made: list[bytes] = []

        def keep(document: str) -> str:
            made.append(make(document))
            return document

        parcel = ground.attacker.normal(M, 1, edit=keep)
        before = parcel.body.index(b"<?xml")
        end = parcel.body.index(END.encode()) + len(END) + 1
        body = parcel.body[:before] + made[0] + parcel.body[end:]
        body = body.replace(CHARSET, f'charset="{charset}"'.encode(), 1)
        return await ground.say(ground.attacker.request(parcel._replace(body=body)))

    return attack


def identified(message_id: str) -> Attack:
    """A message of this MessageId."""
    return posting(lambda ground: ground.attacker.normal(message_id, 1))


def numbered(text: str) -> Attack:
    """A message with this for a SequenceNumber."""
    return written((NUMBER, f"<SequenceNumber>{text}</SequenceNumber>"))


def stamped(text: str) -> Attack:
    """A message of this Timestamp."""
    return posting(lambda ground: ground.attacker.normal(M, 1, timestamp=text))


def stamped_of_late(form: str) -> Attack:
    """A message of some time of yesterday, which is not too old."""

    def make(ground: Ground) -> Parcel:
        yesterday = datetime.now(UTC) - timedelta(days=1)
        return ground.attacker.normal(M, 1, timestamp=yesterday.strftime(form))

    return posting(make)


def reading(old: str, new: str) -> Attack:
    """A document with this change; where it is read at all, it is the usual message."""
    attack = written((old, new))

    async def bring(ground: Ground) -> str:
        answer = await attack(ground)
        assert ground.delivered() in ([], [M])
        return answer

    return bring


def ending(text: str) -> Attack:
    """A message of the other profile with this TimeToLive."""
    return posting(lambda ground: ground.modern.business(M, time_to_live=text))


def twins(one: str, other: str) -> Attack:
    """Two messages whose ids look alike are two."""

    async def attack(ground: Ground) -> str:
        for number, message_id in enumerate((one, other), 1):
            reply = await ground.attacker.send(message_id, number)
        await ground.gateway.until(lambda: {one, other} <= set(ground.delivered()))
        return str(reply.status)

    return attack


async def injected(ground: Ground) -> str:
    """Everything nasty in every field, shown as it came by API, metrics and journal."""
    ids = [word.replace(" ", "") for word in NASTY]
    for number, (word, message_id) in enumerate(zip(NASTY, ids, strict=True), 1):
        quoted = word.replace("&", "&amp;").replace("<", "&lt;")

        def edit(document: str, quoted: str = quoted) -> str:
            for old in ("NewPurchaseOrder", "QuoteToCollect", "../../etc/passwd"):
                document = document.replace(old, quoted, 1)
            return document

        reply = await ground.attacker.send(
            message_id,
            number,
            conversation=message_id.replace("&", "&amp;").replace("<", "&lt;"),
            edit=edit,
        )
        assert "onceonly-error" not in reply.headers, reply
    await ground.gateway.until(lambda: set(ids) <= set(ground.delivered()))
    items = (await ground.gateway.get("/v1/inbox"))["items"]
    shown = [one for one in items if one["message_id"] in ids]
    assert [one["action"] for one in shown] == list(NASTY)
    assert [one["payloads"][0]["name"] for one in shown] == list(NASTY)
    metrics = await ground.gateway.api.get("/metrics")
    assert metrics.status_code == 200
    return str(reply.status)


async def marked_up_error(ground: Ground) -> str:
    """Markup in the text of an Error: shown as text, by an API that is no page."""
    message_id = await ground.gateway.submit(b"<order/>", to=ground.attacker)
    text = "&lt;script&gt;alert(1)&lt;/script&gt;"
    errors = error_list("Unknown", "Error", description=text)
    answer = await ground.attacker.post(ground.attacker.signal("Error", message_id, errors=errors))
    response = await ground.gateway.api.get(f"/v1/messages/{message_id}")
    assert response.headers["content-type"].startswith("application/json")
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "alert(1)" in str(await ground.gateway.get(f"/v1/messages/{message_id}"))
    return str(answer.status)


def kept_as(message_id: str, attack: Attack) -> Attack:
    """A message that is stored under this id, and under no other."""

    async def bring(ground: Ground) -> str:
        answer = await attack(ground)
        await ground.gateway.until(lambda: bool(ground.delivered()))
        assert ground.delivered() == [message_id]
        return answer

    return bring


OTHER, LARGE, VALUE = "400 OtherXml", "413 MessageTooLarge", "204 ValueNotRecognized"

CUT = "R-42: white space round a value is cut, and the cut value is the only one"
READ_ACROSS = (
    *("204", "", 1, None),
    "R-42: text is read across comments and CDATA, as expat gives it; there is no other value",
)

CASES = [
    Case("X1", "a billion laughs", doctype(laughs(9)), OTHER, "DOCTYPE"),
    Case(
        "X1",
        "one long entity many times",
        doctype(f'<!DOCTYPE r [<!ENTITY a "{"a" * 100_000}"><!ENTITY b "{"&a;" * 10_000}">]>'),
        OTHER,
        "DOCTYPE",
    ),
    *(
        Case(
            "X2",
            what,
            unvisited(lambda uri, text=text: doctype(text.replace("TRAP", uri))),
            OTHER,
            "DOCTYPE",
        )
        for what, text in (
            ("an entity of a file", '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>'),
            ("an entity of a server", '<!DOCTYPE r [<!ENTITY x SYSTEM "TRAP">]>'),
            ("a parameter entity", '<!DOCTYPE r [<!ENTITY % x SYSTEM "TRAP"> %x;]>'),
            ("an external DTD", '<!DOCTYPE r SYSTEM "TRAP">'),
        )
    ),
    Case("X3", "a bare DOCTYPE", doctype("<!DOCTYPE r>"), OTHER, "DOCTYPE"),
    Case("X4", "100,000 deep", inside("<a>" * 100_000 + "</a>" * 100_000), LARGE, "elements"),
    Case("X4", "65 deep", inside("<a>" * 65 + "</a>" * 65), LARGE, "deep"),
    Case(
        "X5",
        "10^5 attributes",
        inside(attributes(100_000)),
        LARGE,
    ),
    Case("X5", "65 attributes", inside(attributes(65)), LARGE),
    Case(
        "X5",
        "30,000 namespaces",
        inside("<a " + " ".join(f"xmlns:n{n}='u'" for n in range(30_000)) + "/>"),
        LARGE,
        "namespace declarations",
    ),
    Case(
        "X5",
        "9,000 names of a long namespace",
        inside(
            f"<p:a xmlns:p='{'u' * 500_000}'>"
            + "".join(f"<p:a{n}/>" for n in range(9_000))
            + "</p:a>"
        ),
        LARGE,
        "the name of a namespace",
    ),
    Case("X5", "10^6 siblings", inside("<a/>" * 1_000_000), LARGE, "too long"),
    Case("X5", "10,001 siblings", inside("<a/>" * 10_001), LARGE, "elements"),
    Case("X6", "11 MB of text", inside("<a>" + "x" * 11_000_000 + "</a>"), LARGE, "too long"),
    *(
        Case(
            "X7",
            what,
            documented(lambda document, raw=raw: document.encode().replace(b"conv-1", raw)),
            OTHER,
        )
        for what, raw in (
            ("NUL", b"conv\0"),
            ("overlong UTF-8", b"conv\xc0\xaf"),
            ("half a surrogate pair", b"conv\xed\xa0\x80"),
            ("a control character", b"conv\x01"),
            ("a reference to NUL", b"conv&#0;"),
            ("a reference to a control character", b"conv&#8;"),
        )
    ),
    Case("X8", "a declaration of UTF-7", written(("UTF-8", "UTF-7")), "415 NotSupported"),
    Case(
        "X8",
        "markup in UTF-7",
        documented(lambda document: document.replace("UTF-8", "UTF-7").encode("utf-7")),
        "415 NotSupported",
    ),
    Case("X9", "UTF-16 said to be UTF-8", encoded_as("utf-16"), "415 NotSupported"),
    Case("X9", "UTF-8 said to be UTF-16", repacked((CHARSET, b'charset="utf-16"')), "415 NotSupp"),
    Case(
        "X9",
        "UTF-16 that declares UTF-8",
        encoded_as("utf-16", "utf-16", DECLARATION),
        "415 NotSupported",
    ),
    Case("X9", "UTF-16 as it says", encoded_as("utf-16", "utf-16"), "204", delivered=1),
    *(
        Case("X10", f"{what} in a {where}", reading(old, new.format(what=text)), *expected)
        for what, text, expected in (
            ("comment", "<!-- -->", READ_ACROSS),
            ("CDATA section", "<![CDATA[]]>", READ_ACROSS),
            ("processing instruction", "<?x y?>", (OTHER,)),
            ("comment with a DOCTYPE behind it", "<!-- --><!DOCTYPE r>", (OTHER,)),
        )
        for where, old, new in (
            ("MessageId", M, f"{M[:2]}{{what}}{M[2:]}"),
            ("PartyId", "urn:duns:111111111", "urn:duns:{what}111111111"),
            ("SequenceNumber", "000000001", "00000{what}0001"),
        )
    ),
    Case(
        "X11",
        "a style sheet",
        unvisited(lambda uri: doctype(f'<?xml-stylesheet href="{uri}"?>')),
        OTHER,
    ),
    Case(
        "X11",
        "an XInclude",
        unvisited(
            lambda uri: inside(
                f'<i:include xmlns:i="http://www.w3.org/2001/XInclude" href="{uri}"/>'
            )
        ),
        "204",
        delivered=1,
        why=SKIPPED,
    ),
    Case(
        "X11",
        "a schemaLocation and a base",
        unvisited(
            lambda uri: written(
                (
                    'Version="0.21"',
                    f'Version="0.21" {LOCATED} s:schemaLocation="u {uri}" xml:base="{uri}"',
                )
            )
        ),
        "204",
        delivered=1,
        why=SKIPPED,
    ),
    Case("X12", "two MessageIds", written((FIRST, FIRST * 2)), OTHER, "MessageId twice"),
    Case(
        "X12",
        "another MessageId in no namespace",
        written((FIRST, FIRST + '<MessageId xmlns="">m-2</MessageId>')),
        "204 OtherXml",
        "in no namespace",
        why=TOLD,
    ),
    Case(
        "X12",
        "a RoutingHeader in the Header",
        written(("<MessageData>", "<RoutingHeader/><MessageData>")),
        "204 OtherXml",
        "belongs elsewhere",
        why=TOLD,
    ),
    Case(
        "X12",
        "another namespace",
        written(("http://www.ebxml.org/", "http://www.example.org/")),
        OTHER,
        "root",
    ),
    Case(
        "X12",
        "a MessageId of another namespace",
        written((FIRST, FIRST.replace("<MessageId>", '<MessageId xmlns="urn:x">'))),
        OTHER,
    ),
    Case("X13", "a space before", kept_as("m1", identified(" m1")), "204", delivered=1, why=CUT),
    Case(
        "X13", "a line end behind", kept_as("m1", identified("m1\n")), "204", delivered=1, why=CUT
    ),
    Case(
        "X13",
        "an escaped CR behind",
        kept_as(M, written((FIRST, FIRST.replace("</", "&#13;</")))),
        "204",
        delivered=1,
        why=CUT,
    ),
    Case(
        "X13",
        "an escaped CR inside",
        written((FIRST, FIRST.replace("m-1", "m-&#13;1"))),
        "400 ValueNotRecognized",
        "MessageId",
    ),
    Case("X13", "a no-break space before", identified("\u00a0m1"), "400 ValueNotRecognized"),
    Case("X13", "a no-break space", identified("m\u00a01"), "400 ValueNotRecognized"),
    Case(
        "X13",
        "composed and decomposed",
        twins(unicodedata.normalize("NFC", "mé@a"), unicodedata.normalize("NFD", "mé@a")),
        "204",
        delivered=2,
        why="exact code points: two ids, two messages",
    ),
    Case(
        "X13", "another case", twins("m-1@a", "M-1@a"), "204", delivered=2, why="exact code points"
    ),
    Case("X13", "a homoglyph", twins("a-1@a", "\u0430-1@a"), "204", delivered=2, why="as above"),
    *(
        Case("X14", f"SequenceNumber {what}", numbered(text), VALUE, "SequenceNumber", why=TOLD)
        for what, text in (
            ("0", "000000000"),
            ("-1", "-1"),
            ("+1", "+1"),
            ("1e3", "1e3"),
            ("1000000000", "1000000000"),
            ("of other digits", "٣"),
            ("of 10^5 digits", "1" * 100_000),
            ("of nothing", ""),
        )
    ),
    Case("X14", "SequenceNumber of 10^6 digits", numbered("1" * 1_048_576), LARGE, "too long"),
    *(
        Case("X15", f"Timestamp {what}", stamped(text), VALUE, "Timestamp", why=TOLD)
        for what, text in (
            ("in year 0", "00001002T090000.000Z"),
            ("in year 10000", "100001002T090000.000Z"),
            ("at a leap second", "20161231T235960.000Z"),
            ("behind 24:00", "20001002T240001.000Z"),
        )
    ),
    *(
        Case("X15", f"Timestamp {what}", stamped_of_late(form), "204", delivered=1, why=why)
        for what, form, why in (
            ("without a zone", "%Y%m%dT000000.000", "R-42: it is UTC"),
            ("at 24:00", "%Y%m%dT240000.000Z", "R-42: the next day, as XML Schema has it"),
        )
    ),
    *(
        Case("X15", f"TimeToLive {what}", ending(text), answer, why=TOLD)
        for what, text, answer in (
            ("in year 0", "0000-10-02T09:00:00Z", VALUE),
            ("in year 10000", "10000-10-02T09:00:00Z", VALUE),
            ("at a leap second", "2016-12-31T23:59:60Z", VALUE),
            ("behind 24:00", "2030-10-02T24:00:01Z", VALUE),
            ("in year 1", "0001-01-01T00:00:00Z", "204"),
        )
    ),
    *(
        Case("X15", f"TimeToLive {what}", ending(text), "204", delivered=1, why=why)
        for what, text, why in (
            ("without a zone", "2030-10-02T09:00:00", "R-42: it is UTC"),
            ("at 24:00", "2030-10-02T24:00:00Z", "R-42: the next day, as XML Schema has it"),
        )
    ),
    Case("X16", "everything nasty in every field", injected, "204", delivered=len(NASTY)),
    Case("X16", "an escape of terminals", written(("conv-1", "\x1b[2J")), OTHER),
    Case(
        "X16",
        "line ends in a field",
        written(("NewPurchaseOrder", "New&#13;&#10;Order")),
        VALUE,
        "Action",
        why=TOLD,
    ),
    Case(
        "X17",
        "markup in the text of an Error",
        marked_up_error,
        "204",
        None,
        why="a rightful Error about a message of ours, kept as text; the API shows JSON only",
    ),
]
