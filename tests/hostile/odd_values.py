"""Values that one grammar may let in and another refuse, by what kind of field they are put in.

Nothing here is certainly wrong or certainly right: whether the door takes a value is the door's
affair. What is in all of them is a boundary of some grammar, ours or a library's behind us.
"""

from typing import Final

INSIDE: Final = (
    *("\t", "\n", "\r", "\r\n", "\x7f", "\x80", "\x85", "\x9f", "\xa0", "\xad", "\u0300"),
    *("\u200b", "\u202e", "\u2028", "\u2029", "\u3000", "\ufdd0", "\ufeff", "\ufffd", "\ufffe"),
    *("\uffff", "\U0001f4e6", "\U0001fffe", "\U0010ffff", "\u0131", "\xe9", "\u20ac"),
)
"""Characters of which each was a control, a space, a mark or no character to somebody."""

MARKUP: Final = ("&", "<", ">", '"', "'", "]]>", "\\", "%00", "%0d%0a", "{0}", "%s", "\x1b[2J")

LENGTHS: Final = (1, 250, 251, 255, 256, 998, 10_000)
LETTERS: Final = ("a", "\xe9", "\u20ac", "\U0001f4e6")
"""One to four bytes each in UTF-8."""

WORDS: Final = (
    *("OnceAndOnlyOnce", "BestEffort", "AtMostOnce", "ExactlyOnce", "ebXML", "Transport"),
    *("None", "Unsigned", "Signed", "none", "signalsOnly", "responseOnly", "signalsAndResponse"),
    *("True", "False", "true", "false", "0", "1", "Error", "Warning", "Normal", "MessageError"),
    *("Acknowledgement", "Acknowledgment", "ErrorMessage", "Exception", "DeliveryReceipt"),
    *("Ping", "Pong", "StatusRequest", "StatusResponse", "CancelRequest", "CancelResponse"),
    *("ResponseRequest", "ResponseNotice", "received", "structure", "content", "UnAuthorized"),
    *("NotRecognized", "Received", "Processed", "Forwarded", "not-started", "in-progress"),
    *("complete", "not-known", "0.21", "0.93", "0.99", "1.0", "2.0", "utf-8", "utf-16", "latin-1"),
)

ERROR_CODES: Final = (
    *("TransientError", "InvalidSequenceNumber", "ValueNotRecognized", "NotSupported"),
    *("Inconsistent", "OtherXml", "MimeProblem", "MessageTooLarge", "SecurityFailure"),
    *("TimeToLiveExpired", "DeliveryFailure", "Unknown", "SomethingElse", "a b", "\xe9" * 255),
)

NUMBERS: Final = (
    *("0", "1", "00000000", "000000001", "999999998", "999999999", "1000000000", "-1", "+1"),
    *("1.0", "1e3", "0x1", "\u0661\u0662", " 7 ", "\xa07", "1_0", "9" * 5000, "4294967296"),
)

TIMES: Final = (
    *("00010101T000000.000Z", "99991231T235959.999Z", "19691231T235959.999Z"),
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999999999Z"),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "9999-12-31T23:59:59.9-00:01"),
    *("0001-01-02T00:00:00+14:00", "1970-01-01T00:00:00Z", "2262-04-12T00:00:00Z"),
    *("1677-09-20T00:00:00Z", "2038-01-19T03:14:08Z", "2106-02-07T06:28:16Z"),
    *("9000-01-01T00:00:00Z", "2026-11-25T03:38:38", "2026-11-25", "24:00:00"),
    *("2026-02-30T00:00:00Z", "0000-01-01T00:00:00Z"),
    *("10000-01-01T00:00:00Z", "-0001-01-01T00:00:00Z", "2026-11-25T24:00:00Z"),
    *("2026-11-25T03:38:60Z", "2026-11-25T03:38:38." + "9" * 100 + "Z", "2026-11-25T03:38:38,5Z"),
    *(" 2026-11-25T03:38:38Z ", "20261125T033838Z\x85", "now"),
)  # fmt: skip

URIS: Final = (
    *("a:b", "a:", ":", "urn:x\x80y", "urn:x\x85y", "urn:x\x9f", "urn:x\xa0", "urn:\ufeffx"),
    *("urn:x\u2028y", "urn:\ufdd0", "urn:x\U0001fffe", "urn:x\xad", "urn:\ue000", "urn:\U0010ffff"),
    *("urn:\xe9", "urn:" + "\xe9" * 251, "urn:" + "\U0001f4e6" * 251, "urn:" + "a" * 251),
    *("urn:" + "a" * 252, "x:%00", "x:%0d%0aBcc:y", "http:", "http://", "http:///msh", "http://:80/"),
    *("http://h:0/", "http://h:99999/", "http://h:-1/", "http://h:x/", "http://[::1/", "http://[/"),
    *("http://\xe9.example/msh", "http://h/\xe9", "http://h/?q#f", "http://u:p@h/", "HTTP://H/"),
    *("https://h/", "smtp:", "smtp:x", "smtp:\xe9@h.example", "smtp:a@" + "b" * 240, "smtp:a@[1]"),
    *("amqp://h/?routing_key=" + "r" * 230, "amqp://h/", "amqp:x", "file:///etc/passwd"),
    *("cid:a", "javascript:alert(1)", "urn:a'b", "urn:a&b", "urn:a;b", "urn:a,b", "DUNS:1"),
)  # fmt: skip

PARTY_TYPES: Final = (
    *("DUNS", "a_b", "x y", "", "urn:type", "1", "\xe9", "\x85", "\ufeff", "a:b", "a" * 255),
    *("a" * 256, "\U0001f4e6" * 255, "\u2028", "&quot;"),
)

MEDIA_TYPES: Final = (
    *("text/plain", "a/b", "A/B", "", "text", "text/", "/xml", " a/b", "a/b ", "a/b;", "a/b;;;"),
    *('a/b; x="\t"', "a/b;\tx=y", "a/b\t;x=y", 'a/b; x="a\\"b"', 'a/b; x="a\\\\"', "a/b; x=a b"),
    *('a/b; x="a;b"', "a/b; x=", "a/b; x==", "a/b; x=y; x=z", 'a/b; x=""', "a/b; (a comment)"),
    *('a/b; x="\xe9"', "a/b; x=\xe9", 'a/b; x="\x85"', "a/b; x*=utf-8''%e2", "a/b; \xe9=x"),
    *("a/b;\r\n x=y", "a/b;\r\n\tx=y", 'a/b; x="y\r\n z"', "a/b;\r\n\r\n x=y", "a/b; x=y\r\nX: y"),
    *("a" * 240 + "/b", "a" * 256 + "/b", "a/" + "b" * 300, "a/" + "b" * 990, "a/" + "b" * 9_000),
    *("a/b; x=" + "y" * length for length in (240, 990, 1_100, 9_000)),
    *('a/b; x="' + "y " * 700 + '"', 'a/b; x="' + " " * 1_100 + '"', "a/b" + "; x" * 40),
    *("a/b" + "".join(f"; x{n}=y" for n in range(count)) for count in (16, 17, 40)),
    *('multipart/mixed; boundary="x"', "multipart/related", "message/rfc822"),
    "a/b; charset=utf-16",
    *("application/vnd.eb+xml", 'text/xml; charset="utf-8"; version="0.21"', "a/b; start=<x@y>"),
)  # fmt: skip

CONTENT_IDS: Final = (
    *("x", "a@b", "", " x", "x ", "a b", "a\tb", "<x>", "a<b", "a>b", "%41", "a%40b", "a%2520b"),
    *("\xe9", "\u20ac", "\x85", "a\x7f", "a" * 250, "a" * 251, "a" * 1_000),
    *("a\r\n b", "a\\b", 'a"b', "cid:x", "../x", "a/b", "a#b", "a?b", "-", "--"),
    *("hdr-0001@a.example.com", "--ebxml-part-wrapper"),
)  # fmt: skip

TRANSFER_ENCODINGS: Final = (
    *("7bit", "8bit", "binary", "BINARY", "base64", "BASE64", "quoted-printable", "x-uuencode"),
    *("", "base64 ", "gzip", "base64, base64", "\xe9", "binary\r\n\t", "a" * 1_000),
)

FIELDS: Final = (
    *("X-Y: z", "X-Y:", "Content-Type: a/b", "Content-ID: <x>", "Content-Disposition: \xe9", "x"),
    *("X-Y: " + "z" * 9_000, "X-Y: a\r\n b", "X-Y: \x85", "X-Y: \x00", "Content-Length: 4", ": x"),
)

OUTER_FIELDS: Final = (
    *FIELDS,
    *("Content-Type: a/b", "Content-Encoding: gzip", "Transfer-Encoding: chunked", "Expect: x"),
    *(
        "Content-Transfer-Encoding: base64",
        "Content-Transfer-Encoding: 8bit",
        "Auto-Submitted: \xe9",
    ),
    *("Subject: " + "\u20ac" * 400, "Received: x", "Onceonly-Error: \xe9\x85", "Upgrade: h2c"),
    *("Onceonly-Error: " + "e" * 9_000, "Retry-After: 9999999999999999", "Connection: \x00"),
)
"""Lines in the head of the request, the answer or the mail that brings a package."""

STATUSES: Final = (
    *("200 OK", "200", "201 Created", "204 No Content", "206 Partial", "299 \xe9", "200 \x85"),
    *("100 Continue", "101 Switching", "199 x", "301 Moved", "400 Bad", "500 No", "503 Later"),
    *("600 x", "999 x", "099 x", "20 OK", "2000 OK", "-200 OK", "two OK", "", "200 OK\r\nX: y"),
)
"""Of an answer to a POST of ours."""


def _texts() -> tuple[str, ...]:
    odd = (*INSIDE, *MARKUP)
    around = (text for one in odd for text in (f"a{one}b", f"{one}ab", f"ab{one}"))
    long = (letter * length for letter in LETTERS for length in LENGTHS)
    return ("", " ", "-", "0", ".", "..", "/", "a/b", "a b", " a ", "null", *around, *long)


TEXTS: Final = _texts()
"""For names and identifiers, and for everything else where somebody mixed up the fields."""
