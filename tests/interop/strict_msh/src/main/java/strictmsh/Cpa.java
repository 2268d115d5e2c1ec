package strictmsh;

import java.io.File;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.w3c.dom.Element;

/** What two parties agreed, read from a CPA 2.0: the parts that this MSH holds its partner to. */
record Cpa(String id, Party ours, Party theirs) {
    private static final String NS =
        "http://www.oasis-open.org/committees/ebxml-cppa/schema/cpp-cpa-2_0.xsd";

    record PartyId(String type, String value) {}

    /** Terms of a delivery channel, and where its owner receives. */
    record Channel(
        String syncReplyMode, String ackRequested, String ackSigned, String duplicateElimination,
        URI endpoint, int retries, Duration interval, Duration persists) {

        boolean isSync() {
            return !syncReplyMode.equals("none");
        }
    }

    /** One action that a party sends or receives in a role. */
    record Binding(
        String role, String service, String serviceType, String action, boolean sends,
        boolean isSigned, Channel channel) {}

    record Party(List<PartyId> ids, List<Binding> bindings, Channel mshChannel) {
        Binding find(String service, String action, boolean sends) {
            for (Binding binding : bindings) {
                boolean isIt = binding.action.equals(action) && binding.sends == sends;
                if (isIt && (service == null || binding.service.equals(service))) {
                    return binding;
                }
            }
            return null;
        }

        /** Whether each of these is one of the party's; some of them may be left out. */
        boolean has(List<PartyId> some) {
            return !some.isEmpty() && ids.containsAll(some);
        }
    }

    /** The CPA in a file, from the side of the party with this id. */
    static Cpa read(File file, String ourPartyId) throws Exception {
        Element root = Xml.parse(java.nio.file.Files.readAllBytes(file.toPath())).getDocumentElement();
        List<Party> parties = new ArrayList<>();
        for (Element info : Xml.children(root, NS, "PartyInfo")) {
            parties.add(party(info));
        }
        boolean isFirst = parties.get(0).ids.stream().anyMatch(i -> i.value.equals(ourPartyId));
        return new Cpa(
            root.getAttributeNS(NS, "cpaid"), parties.get(isFirst ? 0 : 1),
            parties.get(isFirst ? 1 : 0));
    }

    private static Party party(Element info) {
        List<PartyId> ids = new ArrayList<>();
        for (Element id : Xml.children(info, NS, "PartyId")) {
            ids.add(new PartyId(id.getAttributeNS(NS, "type"), id.getTextContent().trim()));
        }
        List<Binding> bindings = new ArrayList<>();
        for (Element role : Xml.children(info, NS, "CollaborationRole")) {
            String name = Xml.child(role, NS, "Role").getAttributeNS(NS, "name");
            Element binding = Xml.child(role, NS, "ServiceBinding");
            Element service = Xml.child(binding, NS, "Service");
            for (String way : List.of("CanSend", "CanReceive")) {
                for (Element can : Xml.children(binding, NS, way)) {
                    Element action = Xml.child(can, NS, "ThisPartyActionBinding");
                    Element traits = Xml.child(action, NS, "BusinessTransactionCharacteristics");
                    bindings.add(new Binding(
                        name, service.getTextContent().trim(), service.getAttributeNS(NS, "type"),
                        action.getAttributeNS(NS, "action"), way.equals("CanSend"),
                        traits.getAttributeNS(NS, "isNonRepudiationRequired").equals("true"),
                        channel(info, Xml.child(action, NS, "ChannelId").getTextContent().trim())));
                }
            }
        }
        return new Party(
            ids, bindings, channel(info, info.getAttributeNS(NS, "defaultMshChannelId")));
    }

    private static Channel channel(Element info, String id) {
        Element channel = byId(info, "DeliveryChannel", "channelId", id);
        Element traits = Xml.child(channel, NS, "MessagingCharacteristics");
        Element transport =
            byId(info, "Transport", "transportId", channel.getAttributeNS(NS, "transportId"));
        Element receiver = Xml.child(transport, NS, "TransportReceiver");
        Element exchange =
            byId(info, "DocExchange", "docExchangeId", channel.getAttributeNS(NS, "docExchangeId"));
        Element sender = Xml.child(exchange, NS, "ebXMLSenderBinding");
        Element reliable = Xml.child(sender, NS, "ReliableMessaging");
        boolean isReliable = reliable != null;
        return new Channel(
            traits.getAttributeNS(NS, "syncReplyMode"), traits.getAttributeNS(NS, "ackRequested"),
            traits.getAttributeNS(NS, "ackSignatureRequested"),
            traits.getAttributeNS(NS, "duplicateElimination"),
            URI.create(Xml.child(receiver, NS, "Endpoint").getAttributeNS(NS, "uri")),
            isReliable ? Integer.parseInt(text(reliable, "Retries")) : 0,
            isReliable ? Duration.parse(text(reliable, "RetryInterval")) : Duration.ZERO,
            isReliable ? Duration.parse(text(sender, "PersistDuration")) : Duration.ZERO);
    }

    private static String text(Element parent, String name) {
        return Xml.child(parent, NS, name).getTextContent().trim();
    }

    private static Element byId(Element info, String name, String attribute, String id) {
        for (Element found : Xml.children(info, NS, name)) {
            if (found.getAttributeNS(NS, attribute).equals(id)) {
                return found;
            }
        }
        throw new IllegalArgumentException("no " + name + " " + id + " in the CPA");
    }
}
