package strictmsh;

/** Words of the standard. */
final class Names {
    static final String SOAP = "http://schemas.xmlsoap.org/soap/envelope/";
    static final String EB =
        "http://www.oasis-open.org/committees/ebxml-msg/schema/msg-header-2_0.xsd";
    static final String XLINK = "http://www.w3.org/1999/xlink";
    static final String DS = "http://www.w3.org/2000/09/xmldsig#";
    static final String MSH = "urn:oasis:names:tc:ebxml-msg:service";
    static final String TO_PARTY = "urn:oasis:names:tc:ebxml-msg:actor:toPartyMSH";
    static final String NEXT_MSH = "urn:oasis:names:tc:ebxml-msg:actor:nextMSH";
    static final String NEXT = "http://schemas.xmlsoap.org/soap/actor/next";
    static final String SOAP_ACTION = "\"ebXML\"";

    private Names() {}
}
