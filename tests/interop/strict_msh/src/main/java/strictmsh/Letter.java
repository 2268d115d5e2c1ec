package strictmsh;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

/** An envelope that was read: what it says, by the names of the standard. */
final class Letter {
    final Document document;
    final Element header;
    final Element body;
    final Element messageHeader;

    Letter(Document document) throws Letter.Refusal {
        this.document = document;
        this.header = Xml.child(document.getDocumentElement(), Names.SOAP, "Header");
        this.body = Xml.child(document.getDocumentElement(), Names.SOAP, "Body");
        this.messageHeader =
            header == null ? null : Xml.child(header, Names.EB, "MessageHeader");
        if (messageHeader == null || body == null) {
            throw Letter.Refusal.fault("no MessageHeader");
        }
    }

    private String text(String... path) {
        Element at = messageHeader;
        for (String step : path) {
            at = at == null ? null : Xml.child(at, Names.EB, step);
        }
        return at == null ? null : at.getTextContent().trim();
    }

    String cpaId() {
        return text("CPAId");
    }

    String conversationId() {
        return text("ConversationId");
    }

    String service() {
        return text("Service");
    }

    String action() {
        return text("Action");
    }

    String messageId() {
        return text("MessageData", "MessageId");
    }

    String refToMessageId() {
        return text("MessageData", "RefToMessageId");
    }

    String timeToLive() {
        return text("MessageData", "TimeToLive");
    }

    String role(String side) {
        return text(side, "Role");
    }

    String version() {
        return messageHeader.getAttributeNS(Names.EB, "version");
    }

    boolean isSignal() {
        return Names.MSH.equals(service());
    }

    boolean eliminatesDuplicates() {
        return Xml.child(messageHeader, Names.EB, "DuplicateElimination") != null;
    }

    List<Cpa.PartyId> partyIds(String side) {
        List<Cpa.PartyId> found = new ArrayList<>();
        Element element = Xml.child(messageHeader, Names.EB, side);
        for (Element id : Xml.children(element, Names.EB, "PartyId")) {
            found.add(new Cpa.PartyId(
                id.getAttributeNS(Names.EB, "type"), id.getTextContent().trim()));
        }
        return found;
    }

    /** A header block, of which there is none or one. */
    Element block(String name) {
        return Xml.child(header, Names.EB, name);
    }

    Element bodyBlock(String name) {
        return Xml.child(body, Names.EB, name);
    }

    boolean wantsSync() {
        return block("SyncReply") != null;
    }

    List<String> hrefs() {
        List<String> found = new ArrayList<>();
        Element manifest = bodyBlock("Manifest");
        if (manifest != null) {
            for (Element reference : Xml.children(manifest, Names.EB, "Reference")) {
                found.add(reference.getAttributeNS(Names.XLINK, "href"));
            }
        }
        return found;
    }

    /** Code, location and text of each Error. */
    List<String> errors() {
        List<String> found = new ArrayList<>();
        Element list = block("ErrorList");
        if (list != null) {
            for (Element error : Xml.children(list, Names.EB, "Error")) {
                Element text = Xml.child(error, Names.EB, "Description");
                found.add(error.getAttributeNS(Names.EB, "errorCode") + " at "
                    + error.getAttributeNS(Names.EB, "location") + ": "
                    + (text == null ? "" : text.getTextContent().trim()));
            }
        }
        return found;
    }

    boolean isTooOld(Instant now) {
        String until = timeToLive();
        return until != null && !now.isBefore(java.time.OffsetDateTime.parse(until).toInstant());
    }

    /** A refusal of what arrived: as a Fault, an ErrorList, or a status alone. */
    static final class Refusal extends Exception {
        private static final long serialVersionUID = 1L;
        final String code;
        final String location;

        private Refusal(String code, String location, String text) {
            super(text);
            this.code = code;
            this.location = location;
        }

        static Refusal fault(String text) {
            return new Refusal("Fault", "", text);
        }

        /** What deployed products answer with 500 and no body. */
        static Refusal silent(String text) {
            return new Refusal("Silent", "", text);
        }

        static Refusal error(String code, String location, String text) {
            return new Refusal(code, location, text);
        }
    }
}
