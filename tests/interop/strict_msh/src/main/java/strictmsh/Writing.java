package strictmsh;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.UUID;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

/** Envelopes of this MSH, built as trees. */
final class Writing {
    private Document document;
    private final Element header;
    private final Element body;
    final String messageId;

    private Writing(
        String cpaId, String conversationId, Side from, Side to, String serviceType, String service,
        String action, String ref, Instant timeToLive, boolean eliminates) throws Exception {
        document = Xml.empty();
        Element envelope = document.createElementNS(Names.SOAP, "soap:Envelope");
        document.appendChild(envelope);
        for (String[] prefix : new String[][] {
            {"soap", Names.SOAP}, {"eb", Names.EB}, {"xlink", Names.XLINK}}) {
            envelope.setAttributeNS(
                "http://www.w3.org/2000/xmlns/", "xmlns:" + prefix[0], prefix[1]);
        }
        header = add(envelope, Names.SOAP, "soap:Header", null);
        body = add(envelope, Names.SOAP, "soap:Body", null);
        messageId = UUID.randomUUID() + "@strict.example";
        Element about = block(header, "MessageHeader", true, null);
        side(about, "From", from);
        side(about, "To", to);
        eb(about, "CPAId", cpaId);
        eb(about, "ConversationId", conversationId);
        Element serviceElement = eb(about, "Service", service);
        if (serviceType != null && !serviceType.isEmpty()) {
            serviceElement.setAttributeNS(Names.EB, "eb:type", serviceType);
        }
        eb(about, "Action", action);
        Element data = eb(about, "MessageData", null);
        eb(data, "MessageId", messageId);
        eb(data, "Timestamp", stamp(Instant.now()));
        if (ref != null) {
            eb(data, "RefToMessageId", ref);
        }
        if (timeToLive != null) {
            eb(data, "TimeToLive", stamp(timeToLive));
        }
        if (eliminates) {
            eb(about, "DuplicateElimination", null);
        }
    }

    record Side(List<Cpa.PartyId> ids, String role) {}

    static Writing business(
        Cpa cpa, Cpa.Binding ours, Cpa.Binding theirs, String conversation, String ref,
        Instant timeToLive) throws Exception {
        Cpa.Channel channel = ours.channel();
        Writing made = new Writing(
            cpa.id(), conversation == null ? UUID.randomUUID().toString() : conversation,
            new Side(cpa.ours().ids(), ours.role()), new Side(cpa.theirs().ids(), theirs.role()),
            ours.serviceType(), ours.service(), ours.action(), ref, timeToLive,
            channel.duplicateElimination().equals("always"));
        if (channel.isSync()) {
            made.block(made.header, "SyncReply", true, Names.NEXT);
        }
        if (channel.ackRequested().equals("always")) {
            Element asked = made.block(made.header, "AckRequested", true, Names.TO_PARTY);
            asked.setAttributeNS(
                Names.EB, "eb:signed", String.valueOf(channel.ackSigned().equals("always")));
        }
        return made;
    }

    /** A signal of our own accord. */
    static Writing question(Cpa cpa, String action, boolean isSync) throws Exception {
        Writing made = new Writing(
            cpa.id(), UUID.randomUUID().toString(), new Side(cpa.ours().ids(), null),
            new Side(cpa.theirs().ids(), null), null, Names.MSH, action, null, null, false);
        if (isSync) {
            made.block(made.header, "SyncReply", true, Names.NEXT);
        }
        return made;
    }

    /** A signal about what came: the parties change places. */
    static Writing about(Letter came, String action) throws Exception {
        return new Writing(
            came.cpaId(), came.conversationId(), new Side(came.partyIds("To"), null),
            new Side(came.partyIds("From"), null), null, Names.MSH, action, came.messageId(), null,
            false);
    }

    void acknowledgment(Letter came, List<Element> references) {
        Element ack = block(header, "Acknowledgment", true, Names.TO_PARTY);
        eb(ack, "Timestamp", stamp(Instant.now()));
        eb(ack, "RefToMessageId", came.messageId());
        side(ack, "From", new Side(came.partyIds("To"), null));
        for (Element reference : references) {
            ack.appendChild(document.importNode(reference, true));
        }
    }

    void errorList(String code, String location, String text) {
        Element list = block(header, "ErrorList", true, null);
        list.setAttributeNS(Names.EB, "eb:highestSeverity", "Error");
        Element error = eb(list, "Error", null);
        error.setAttributeNS(Names.EB, "eb:codeContext", Names.MSH + ":errors");
        error.setAttributeNS(Names.EB, "eb:errorCode", code);
        error.setAttributeNS(Names.EB, "eb:severity", "Error");
        error.setAttributeNS(Names.EB, "eb:location", location);
        eb(error, "Description", text).setAttributeNS(
            "http://www.w3.org/XML/1998/namespace", "xml:lang", "en-US");
    }

    void statusRequest(String about) {
        eb(block(body, "StatusRequest", false, null), "RefToMessageId", about);
    }

    void statusResponse(String about, String status, Instant at) {
        Element response = block(body, "StatusResponse", false, null);
        response.setAttributeNS(Names.EB, "eb:messageStatus", status);
        eb(response, "RefToMessageId", about);
        if (at != null) {
            eb(response, "Timestamp", stamp(at));
        }
    }

    void manifest(List<Parcel.Part> parts) {
        if (parts.isEmpty()) {
            return;
        }
        Element manifest = block(body, "Manifest", false, null);
        for (Parcel.Part part : parts) {
            Element reference = eb(manifest, "Reference", null);
            reference.setAttributeNS(Names.XLINK, "xlink:type", "simple");
            reference.setAttributeNS(Names.XLINK, "xlink:href", "cid:" + part.contentId());
        }
    }

    /** What is written then is final. */
    void sign(Seal seal, List<Parcel.Part> parts) throws Exception {
        document = seal.sign(document, parts);
    }

    Document document() {
        return document;
    }

    static byte[] fault(String text) throws Exception {
        Document document = Xml.empty();
        Element envelope = document.createElementNS(Names.SOAP, "soap:Envelope");
        document.appendChild(envelope);
        Element body = (Element) envelope.appendChild(
            document.createElementNS(Names.SOAP, "soap:Body"));
        Element fault =
            (Element) body.appendChild(document.createElementNS(Names.SOAP, "soap:Fault"));
        fault.appendChild(document.createElementNS(null, "faultcode"))
            .setTextContent("soap:Client");
        fault.appendChild(document.createElementNS(null, "faultstring")).setTextContent(text);
        return Xml.bytes(document);
    }

    private static String stamp(Instant at) {
        return at.truncatedTo(ChronoUnit.MILLIS).toString();
    }

    private void side(Element parent, String name, Side side) {
        Element element = eb(parent, name, null);
        for (Cpa.PartyId id : side.ids) {
            Element party = eb(element, "PartyId", id.value());
            if (!id.type().isEmpty()) {
                party.setAttributeNS(Names.EB, "eb:type", id.type());
            }
        }
        if (side.role != null) {
            eb(element, "Role", side.role);
        }
    }

    private Element block(Element parent, String name, boolean mustUnderstand, String actor) {
        Element made = eb(parent, name, null);
        made.setAttributeNS(Names.EB, "eb:version", "2.0");
        if (mustUnderstand) {
            made.setAttributeNS(Names.SOAP, "soap:mustUnderstand", "1");
        }
        if (actor != null) {
            made.setAttributeNS(Names.SOAP, "soap:actor", actor);
        }
        return made;
    }

    private Element eb(Element parent, String name, String text) {
        return add(parent, Names.EB, "eb:" + name, text);
    }

    private Element add(Element parent, String namespace, String name, String text) {
        Element made = document.createElementNS(namespace, name);
        if (text != null) {
            made.setTextContent(text);
        }
        return (Element) parent.appendChild(made);
    }
}
