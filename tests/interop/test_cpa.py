"""The CPA that both sides of an exchange are configured by."""

import pytest
from ebms2_samples import SCHEMAS
from lxml import etree
from ordering import SYNC, cpa_text


@pytest.mark.parametrize("terms", [{}, SYNC, {"signed": "true", "ack_signed": "always"}])
def test_the_cpa_is_valid_against_the_schema_of_oasis(terms):
    """So that another product would take it, too."""
    if not SCHEMAS.is_dir():
        pytest.skip("the schemas of the specification are not on this machine")
    parser = etree.XMLParser(load_dtd=False, no_network=True)
    schema = etree.XMLSchema(etree.parse(SCHEMAS / "cpp-cpa-2_0.xsd", parser))
    text = cpa_text("http://127.0.0.1:1/msh", "http://127.0.0.1:2/msh", **terms)
    schema.assertValid(etree.fromstring(text.encode()))
