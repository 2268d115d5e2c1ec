"""The canonical forms: of documents against libxml2, of elements against the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.wire import canonical
from onceonly.wire.canonical import Method, View, canonical_forms, forms_and_scopes

METHODS = {
    "inclusive": Method(),
    "inclusive with comments": Method(with_comments=True),
    "exclusive": Method(is_exclusive=True),
    "exclusive with comments": Method(is_exclusive=True, with_comments=True),
    # Without the word for the default namespace, which lxml drops from the list.
    "exclusive with prefixes": Method(is_exclusive=True, prefixes=frozenset({"a", "zz"})),
}


def whole(document: str, method: Method) -> bytes:
    ((form,),) = canonical_forms(document.encode(), (View(method),))
    return form


def of_libxml2(document: str, method: Method) -> bytes:
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    tree = etree.ElementTree(etree.fromstring(document.encode(), parser))
    prefixes = sorted(method.prefixes) or None
    return etree.tostring(
        tree,
        method="c14n",
        exclusive=method.is_exclusive,
        with_comments=method.with_comments,
        inclusive_ns_prefixes=prefixes,
    )


DOCUMENTS = (
    "<a/>",
    "<?xml version='1.0' encoding='UTF-8'?>\r\n<!-- x --><a>\r\n</a>\r\n<!-- y -->\n<!-- z -->",
    "<a><b/>text<!-- c --><![CDATA[<&>]]>&amp;&lt;&gt;&quot;&#13;&#9;&#10;</a>",
    "<a b='&#9;&#10;&#13; \t\n&lt;&gt;&amp;&quot;&apos;' c=\"it's\"/>",
    "<b:a xmlns:b='u:1' xmlns:a='u:2' xmlns='u:0' b:z='1' a:y='2' x='3' b:a='4' xml:lang='de'/>",
    "<a xmlns='u:1'><b xmlns=''><c xmlns='u:1'/></b><d xmlns='u:1'/></a>",
    "<a:a xmlns:a='u:1'><a:b xmlns:a='u:2'><a:c xmlns:a='u:1'/></a:b><a:d/></a:a>",
    "<a:a xmlns:a='u:1' xmlns='u:0'><b xmlns=''><a:c><d/></a:c></b></a:a>",
    "<a xmlns:b='u:1' xmlns:c='u:1' c:x='1' b:y='2' xmlns:unused='u:9'/>",
    "<a xml:space='preserve' xml:id='i'> <b xml:lang='en'/> </a>",
    "<é ü='ö' xmlns:ä='urn:x'>\U0001f600<ä:ñ/></é>",
)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_has_the_canonical_form_that_libxml2_gives_it(document, method):
    assert whole(document, METHODS[method]) == of_libxml2(document, METHODS[method])


PREFIXES = ("", "a", "b", "zz")
URIS = ("u:1", "u:2", "http://example.com/?a=b")
TEXTS = st.text(st.sampled_from("ab &<>\"'\t\n\r\u00e9\U0001f600"), max_size=6)


def escape(text: str) -> str:
    for sign, reference in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(sign, reference)
    return text.replace("\r", "&#13;")


@st.composite
def elements(draw, scope=(), depth=0):
    """An element with its declarations, in any nesting of scopes; well-formed with namespaces."""
    bound = dict(scope)
    declared = draw(st.dictionaries(st.sampled_from(PREFIXES), st.sampled_from(URIS), max_size=3))
    if draw(st.booleans()) and "" not in declared:
        declared[""] = ""
    bound |= declared
    usable = [prefix for prefix in bound if prefix]
    prefix = draw(st.sampled_from(["", *usable]))
    name = f"{prefix}:e" if prefix else "e"
    attributes = [f'xmlns{":" if one else ""}{one}="{uri}"' for one, uri in declared.items()]
    seen = set()
    for one in draw(st.lists(st.sampled_from(["", "xml", *usable]), max_size=3)):
        local = draw(st.sampled_from(["lang", "x", "y"]))
        key = (bound.get(one, one) if one else "", local)
        if key not in seen:
            seen.add(key)
            value = escape(draw(TEXTS))
            attributes.append(f'{one}{":" if one else ""}{local}="{value}"')
    inside = []
    if depth < 4:
        for _ in range(draw(st.integers(0, 3))):
            child = draw(
                st.one_of(
                    elements(tuple(bound.items()), depth + 1),
                    TEXTS.map(escape),
                    st.just("<!-- c -->"),
                    st.just("<![CDATA[<x>&]]>"),
                )
            )
            inside.append(child)
    return f"<{' '.join([name, *attributes])}>{''.join(inside)}</{name}>"


@given(elements(), st.sampled_from(sorted(METHODS)))
def test_any_tree_has_the_canonical_form_that_libxml2_gives_it(document, method):
    assert whole(document, METHODS[method]) == of_libxml2(document, METHODS[method])


def test_a_namespace_is_escaped_like_any_value():
    """libxml2 forgets to: what it writes then is no XML, so nobody can have signed it."""
    document = '<a xmlns="u:?a=1&amp;b=2"/>'
    assert whole(document, Method()) == b'<a xmlns="u:?a=1&amp;b=2"></a>'


# --- Elements of a document ----------------------------------------------------------------------


def part(document: str, method: Method, *path: str) -> list[bytes]:
    (forms,) = canonical_forms(document.encode(), (View(method, path),))
    return forms


AROUND = (
    '<a xmlns="u:0" xmlns:p="u:1" xml:lang="de" xml:space="preserve" xml:id="i">'
    '<b xml:lang="en"><p:c q="1">x</p:c></b></a>'
)
PATH = ("{u:0}a", "{u:0}b", "{u:1}c")


@pytest.mark.statement("E2-47")
def test_an_element_takes_over_what_is_in_scope():
    """Canonical XML 1.0 §2.4: all namespaces, and the nearest xml: attributes, of those around."""
    namespaces, taken = 'xmlns="u:0" xmlns:p="u:1"', 'xml:id="i" xml:lang="en" xml:space="preserve"'
    assert part(AROUND, Method(), *PATH) == [f'<p:c {namespaces} q="1" {taken}>x</p:c>'.encode()]


def test_an_element_of_the_exclusive_form_takes_over_nothing_that_it_does_not_use():
    assert part(AROUND, Method(is_exclusive=True), *PATH) == [b'<p:c xmlns:p="u:1" q="1">x</p:c>']
    listed = Method(is_exclusive=True, prefixes=frozenset({""}))
    assert part(AROUND, listed, *PATH) == [b'<p:c xmlns="u:0" xmlns:p="u:1" q="1">x</p:c>']


def test_an_element_of_canonical_xml_1_1_takes_over_no_id():
    assert b"xml:id" not in part(AROUND, Method(is_1_1=True), *PATH)[0]
    assert b"xml:lang" in part(AROUND, Method(is_1_1=True), *PATH)[0]
    with pytest.raises(RemoteError, match="xml:base"):
        part(AROUND.replace("xml:id", "xml:base"), Method(is_1_1=True), *PATH)


def test_an_element_overrides_what_is_around():
    document = '<a xmlns="u:0" xml:lang="de"><b xmlns="" xml:lang="en"><c/></b></a>'
    assert part(document, Method(), "{u:0}a", "b") == [b'<b xml:lang="en"><c></c></b>']


@pytest.mark.statement("E2-48")
def test_an_element_under_a_default_namespace_gets_no_empty_one():
    """One library writes xmlns="" there, and verifies no message of such a product."""
    document = '<a xmlns="u:0"><b><c xmlns="u:0"/></b></a>'
    assert part(document, Method(), "{u:0}a", "{u:0}b") == [b'<b xmlns="u:0"><c></c></b>']


def test_every_element_at_the_path_has_a_form_of_its_own():
    document = "<a><b>1</b><b><b>2</b></b><c><b>3</b></c></a>"
    assert part(document, Method(), "a", "b") == [b"<b>1</b>", b"<b><b>2</b></b>"]
    assert part(document, Method(), "a", "d") == []


def test_what_is_left_out_takes_everything_in_it_along_and_nothing_beside_it():
    def is_b(tag, attributes):
        return tag == "b" or ("u:1", "x", "p:x", "1") in attributes

    document = '<a xmlns:p="u:1">1<b>2<c/>3</b>4<d p:x="1"><e/></d>5<d p:x="2"/></a>'
    ((form,),) = canonical_forms(document.encode(), (View(Method(), (), is_b),))
    assert form == b'<a xmlns:p="u:1">145<d p:x="2"></d></a>'


def test_several_views_are_made_in_one_reading():
    views = (View(Method(), ("a", "b")), View(Method(is_exclusive=True)), View(Method(), ("a",)))
    forms = canonical_forms(b'<a xmlns:x="u:1"><b/></a>', views)
    assert forms == [
        [b'<b xmlns:x="u:1"></b>'],
        [b"<a><b></b></a>"],
        [b'<a xmlns:x="u:1"><b></b></a>'],
    ]


def test_a_comment_in_an_element_is_there_only_if_it_is_asked_for():
    document = "<!-- 1 --><a><!-- 2 --><b><!-- 3 --></b></a><!-- 4 -->"
    assert part(document, Method(with_comments=True), "a", "b") == [b"<b><!-- 3 --></b>"]
    assert part(document, Method(), "a", "b") == [b"<b></b>"]


def test_a_document_in_utf_16_has_the_same_form():
    text = '<?xml version="1.0" encoding="UTF-16"?><a b="\u00e9"/>'
    ((form,),) = canonical_forms(text.encode("utf-16"), (View(Method()),))
    assert form == '<a b="\u00e9"></a>'.encode()


def test_the_scopes_of_elements_are_those_of_their_place():
    document = '<p:a xmlns:p="u:1"><b xmlns:q="u:2"/><b xmlns:p="u:3"/></p:a>'
    _, found = forms_and_scopes(document.encode(), (), ("{u:1}a", "b"))
    assert found == [{"p": "u:1", "q": "u:2"}, {"p": "u:3"}]


def test_a_form_that_grows_past_a_limit_is_refused(monkeypatch):
    """S32: each of many elements declares again what it uses, in the exclusive form."""
    monkeypatch.setattr(canonical, "CANONICAL_BYTES_MAX", 10_000)
    document = f'<a xmlns:p="u:{"x" * 500}">{"<p:b/>" * 100}</a>'
    assert len(whole(document, Method())) < 10_000
    with pytest.raises(RemoteError) as refused:
        whole(document, Method(is_exclusive=True))
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
