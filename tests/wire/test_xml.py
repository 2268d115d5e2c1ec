"""Hardened XML: which documents are let near a parser, and what the parser still refuses."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onceonly.message.errors import ErrorCode, LocalError, RemoteError
from onceonly.wire.limits import DEFAULT, Limits
from onceonly.wire.xml import escaped, parse


def refusal(document, charset="utf-8", limits=DEFAULT):
    with pytest.raises(RemoteError) as refused:
        parse(document, charset, limits)
    return refused.value.code


DECLARED = b'<?xml version="1.0" encoding="%s"?><r>\xc3\xa4</r>'
UTF_16 = '<?xml version="1.0" encoding="UTF-16"?><r>ä</r>'.encode("utf-16-le")


@pytest.mark.parametrize(
    ("document", "charset"),
    [
        (b"<r>\xc3\xa4</r>", "utf-8"),
        (b"<r>\xc3\xa4</r>", None),
        (DECLARED % b"UTF-8", "UTF-8"),
        (DECLARED % b"utf-8", None),
        (b"<?xml version='1.0'  encoding = 'Utf-8' standalone='yes' ?>\r\n<r>\xc3\xa4</r>", None),
        (b'<?xml version="1.0"?><r>\xc3\xa4</r>', None),
        (codecs.BOM_UTF8 + DECLARED % b"UTF-8", "utf-8"),
        (DECLARED % b"utf8", "UTF_8"),
        (DECLARED % b"csUTF8", " utf 8 "),
        (b"\r\n \t" + DECLARED % b"UTF-8", "utf-8"),
        (codecs.BOM_UTF8 + b"\n" + DECLARED % b"UTF-8", None),
        (codecs.BOM_UTF16_LE + "\n".encode("utf-16-le") + UTF_16, "utf16"),
        (codecs.BOM_UTF16_LE + UTF_16, "utf-16"),
        (codecs.BOM_UTF16_LE + UTF_16, None),
        (codecs.BOM_UTF16_BE + "<r>ä</r>".encode("utf-16-be"), "UTF-16"),
    ],
)
def test_utf_8_and_utf_16_are_read(document, charset):
    """R-24, R-42: these two, in any spelling, where charset, byte order mark and declaration agree
    or are silent; white space before the declaration hides nothing."""
    assert parse(document, charset, DEFAULT).text == "ä"


@pytest.mark.parametrize(
    ("document", "charset"),
    [
        (DECLARED % b"UTF-7", None),
        (DECLARED % b"ISO-8859-1", None),
        (DECLARED % b"UTF-16", "utf-8"),
        (DECLARED % b"UTF-8", "utf-7"),
        (DECLARED % b"UTF-8", "us-ascii"),
        (DECLARED % b"UTF-8", "utf-16"),
        (DECLARED % b"UTF-8", ""),
        (codecs.BOM_UTF16_LE + UTF_16, "utf-8"),
        (codecs.BOM_UTF16_LE + (DECLARED % b"UTF-8").decode().encode("utf-16-le"), "utf-16"),
        (codecs.BOM_UTF8 + DECLARED % b"UTF-16", None),
    ],
)
def test_other_and_conflicting_encodings_are_refused(document, charset):
    """X8, X9, P12: UTF-7 above all, and everything that two readers could decode differently."""
    assert refusal(document, charset) is ErrorCode.NOT_SUPPORTED


@pytest.mark.parametrize(
    "document",
    [
        b"<r>\xc0\xaf</r>",
        b"<r>\xed\xa0\x80</r>",
        b"<r>\xff</r>",
        b"<r>\xef\xbf\xbe</r>",
        b"<r>\0</r>",
        b"<r>\x1b</r>",
        b"<r>&#0;</r>",
        b"<r>&#xD800;</r>",
        b"<r>&#x1b;</r>",
        b"\xff\xfe<\x00r\x00/\x00>",
        b"\xff\xfe" + "<r>".encode("utf-16-le") + b"\x00\xd8" + "</r>".encode("utf-16-le"),
        UTF_16,
    ],
)
def test_bytes_that_are_no_text_are_refused(document):
    """X7: overlong forms, lone surrogates, NUL and control characters, also by reference."""
    assert refusal(document, None) is ErrorCode.OTHER_XML


@pytest.mark.parametrize(
    "document",
    [
        b"<!DOCTYPE r><r/>",
        b"<?xml version='1.0'?>\n<!DOCTYPE r SYSTEM 'http://a/b'><r/>",
        b"<!DOCTYPE r [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><r>&b;</r>",
        b"<!DOCTYPE r [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><r>&x;</r>",
        b"<!DOCTYPE r [<!ENTITY % p SYSTEM 'http://a/b'>%p;]><r/>",
        b"\xff\xfe" + "<!DOCTYPE r><r/>".encode("utf-16-le"),
        b"<!-- --><!DOCTYPE r><!-- --><r/>",
        b"<![CDATA[<!DOCTYPE r>]]><r/>",
        b"<r><!ENTITY a 'b'></r>",
        b"<r><!-- a -- b --></r>",
        b"<r><!-- a",
        b"<r><!-- a --",
        b"<r><!-- a --->",
        b"<r><!--></r>",
        b"<r><![CDATA[a</r>",
        b"<r><![cdata[a]]></r>",
        b"<r><!></r>",
        b"<r><?a <!-- ?> --></r>",
        b"<r a='<!-- -->'/>",
        b"<r><?a b?></r>",
        b"<?xml-stylesheet href='a'?><r/>",
        b"<?xml version='1.0'?><?a?><r/>",
        b"<?xml version='1.1'?><r/>",
        b"<?xml version='1.0' encoding='UTF-8' evil='a'?><r/>",
        b"<r/><?xml version='1.0'?>",
        b"<r>&x;</r>",
    ],
)
def test_doctype_declarations_and_instructions_are_refused(document):
    """X1-X3, X10, X11: refused by their first two bytes, before any parser sees them, wherever
    comments and CDATA sections stand around them."""
    assert refusal(document, None) is ErrorCode.OTHER_XML


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (b"<r>12<!-- -->3</r>", "123"),
        (b"<!-- a --><r>1</r><!-- b -->", "1"),
        (b"<r><![CDATA[1]]></r>", "1"),
        (b"<r>1<![CDATA[<!DOCTYPE r>]]><!--<?x?><a>-->2</r>", "1<!DOCTYPE r>2"),
        (b"<r><!-- <![CDATA[ -->1<![CDATA[<!-- ]]></r>", "1<!-- "),
        (b"<r><!---->1<![CDATA[]]>2<![CDATA[]]]]><![CDATA[>]]></r>", "12]]>"),
    ],
)
def test_text_is_read_across_comments_and_cdata(document, text):
    """R-42: the value that expat gives, which is the whole of it."""
    assert parse(document, None, DEFAULT).text == text


def test_sections_without_end_cost_no_time():
    """A hundred thousand beginnings are looked through once."""
    for beginning in (b"<!--", b"<![CDATA[", b"<!-- -", b"<!---->"):
        document = b"<r>" + beginning * (1_000_000 // len(beginning))
        assert refusal(document, limits=Limits(elements_max=10**6)) is ErrorCode.OTHER_XML


def test_what_stands_in_sections_does_not_count_as_markup():
    """The limits are for what a parser makes something of."""
    parse(b"<r><!--" + b"<a xmlns='b'>" * 20_000 + b"--></r>", None, DEFAULT)


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"text",
        b"<r>",
        b"<r/><r/>",
        b"<r></s>",
        b"<r a='1' a='2'/>",
        b"<x:r/>",
        b"<r a=1/>",
        b"<r a='<'/>",
        b"<r>]]></r>",
        b"<r/> \n<?xml version='1.0'?>",
        b"\xc2\xa0<?xml version='1.0'?><r/>",
    ],
)
def test_what_is_not_well_formed_is_refused(document):
    """Expat is the judge of what is left."""
    assert refusal(document, None) is ErrorCode.OTHER_XML


def attributes(count):
    return b" ".join(b"a%d=''" % n for n in range(count))


def nested(depth):
    return b"<r>" * depth + b"</r>" * depth


def namespaces(count):
    return b"<r>%s</r>" % b"".join(b"<a%d:s xmlns:a%d='u:%d'/>" % (n, n, n) for n in range(count))


def named(length):
    """A declaration that begins a name, another that has the other quotes in its own, and text."""
    name = b"'" + b"u" * (length - 1)
    return b"<r>xmlns<a b='%s'/><b xmlns:xmlnsb =\n \"%s\"/></r>" % (b"x" * 1_000, name)


@pytest.mark.parametrize(
    ("most", "too_much"),
    [
        (nested(64), nested(65)),
        (nested(64), nested(5_000)),
        (b"<r %s/>" % attributes(64), b"<r %s/>" % attributes(65)),
        (b"<r><s %s/></r>" % attributes(64), b"<r><s %s/></r>" % attributes(65)),
        (namespaces(64), namespaces(65)),
        (named(256), named(257)),
        (b"<r>%s</r>" % (b"<!---->" * 10_000), b"<r>%s</r>" % (b"<!---->" * 10_001)),
        (b"<r>%s</r>" % (b"<s/>" * 9_999), b"<r>%s</r>" % (b"<s/>" * 10_000)),
        (b"<r>%s</r>" % (b"<s></s>" * 9_999), b"<r>%s</r>" % (b"<s></s>" * 10_000)),
        (b"<r>%s</r>" % (b"a" * ((1 << 20) - 7)), b"<r>%s</r>" % (b"a" * ((1 << 20) - 6))),
    ],
    ids=[
        *("depth", "far-depth", "root", "attributes", "namespaces", "name", "sections"),
        *("empty", "elements", "bytes"),
    ],
)
def test_depth_attributes_namespaces_elements_and_bytes_are_bounded(most, too_much):
    """X4-X6: to the limit and not one further."""
    parse(most, None, DEFAULT)
    assert refusal(too_much, None) is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("text", ["xmlns", "xmlns = u", "xmlns = xmlns"])
def test_what_declares_no_namespace_is_text(text):
    """Without a value, or without even the sign before it."""
    document = f"<r>{text}{'u' * 1_000}</r>".encode()
    assert parse(document, None, DEFAULT).text == text + "u" * 1_000


def test_the_limits_are_the_callers():
    """A gateway may agree on less."""
    assert refusal(nested(4), None, Limits(depth_max=3)) is ErrorCode.MESSAGE_TOO_LARGE


# --- Escaping ----------------------------------------------------------------------------------

CARRIED = st.text(
    st.characters(
        codec="utf-8", exclude_characters="\ufffe\uffff", exclude_categories=["Cs"]
    ).filter(lambda char: char >= " ")
    | st.sampled_from("\t\r\n&<>\"'")
)


@given(CARRIED)
def test_escaped_text_reads_back_in_content_and_in_attributes(text):
    """Line ends and tabs included, which XML would otherwise turn into others."""
    (safe,) = escaped((text,))
    root = parse(f'<r a="{safe}">{safe}</r>'.encode(), None, DEFAULT)
    assert (root.text or "", root.get("a")) == (text, text)


@pytest.mark.parametrize("character", "\0\x08\x0b\x0c\x1b\x1f\ud800\udfff\ufffe\uffff")
def test_characters_that_xml_cannot_carry_are_refused(character):
    """Our own caller's fault, said before a byte is written."""
    with pytest.raises(LocalError) as refused:
        escaped(("fine", f"a{character}"))
    assert refused.value.name == "InvalidText"
