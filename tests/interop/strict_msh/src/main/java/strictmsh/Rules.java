package strictmsh;

import java.io.File;
import java.util.List;
import javax.xml.validation.Schema;
import org.w3c.dom.Element;
import strictmsh.Letter.Refusal;

/**
 * What an arrival is held to: the schemas, the CPA, and habits of deployed gateways that refuse more
 * than the standard does.
 */
final class Rules {
    private final Cpa cpa;
    private final Schema schema;
    private final Seal seal;

    Rules(Cpa cpa, File schemas, Seal seal) throws Exception {
        this.cpa = cpa;
        this.schema = schemas == null ? null : Xml.schema(schemas);
        this.seal = seal;
    }

    /** What holds for everything that arrives. */
    Letter open(byte[] envelope) throws Refusal {
        try {
            var document = Xml.parse(envelope);
            String fault = Xml.fault(schema, document);
            if (fault != null) {
                throw Refusal.fault("not valid against the schema: " + fault);
            }
            Letter letter = new Letter(document);
            if (!cpa.id().equals(letter.cpaId())) {
                throw Refusal.fault("CPA " + letter.cpaId() + " not found");
            }
            return letter;
        } catch (Refusal refusal) {
            throw refusal;
        } catch (Exception error) {
            throw Refusal.silent(error.toString());
        }
    }

    void checkHeader(Letter letter) throws Refusal {
        if (!"2.0".equals(letter.version())) {
            throw inconsistent("//Header/MessageHeader/@version");
        }
        checkSide(letter, "From", cpa.theirs());
        checkSide(letter, "To", cpa.ours());
    }

    private void checkSide(Letter letter, String side, Cpa.Party party) throws Refusal {
        if (!party.has(letter.partyIds(side))) {
            throw inconsistent("//Header/MessageHeader/" + side + "/PartyId");
        }
        String role = letter.role(side);
        if (!letter.isSignal() && (role == null || role.isEmpty())) {
            throw inconsistent("//Header/MessageHeader/" + side + "/Role");
        }
    }

    void checkBusiness(Letter letter, List<Parcel.Part> parts, boolean isRefKnown) throws Refusal {
        checkHeader(letter);
        Cpa.Binding sends = cpa.theirs().find(letter.service(), letter.action(), true);
        Cpa.Binding receives = cpa.ours().find(letter.service(), letter.action(), false);
        if (sends == null || receives == null || !sends.role().equals(letter.role("From"))
            || !receives.role().equals(letter.role("To"))) {
            throw Refusal.error(
                "ValueNotRecognized", "//Header/MessageHeader/Action", "Value not found.");
        }
        if (!isRefKnown) {
            throw Refusal.error(
                "ValueNotRecognized", "//Header/MessageHeader/MessageData/RefToMessageId",
                "Value not found.");
        }
        if (letter.isTooOld(java.time.Instant.now())) {
            throw Refusal.error(
                "TimeToLiveExpired", "//Header/MessageHeader/MessageData/TimeToLive", "Too old.");
        }
        checkFlags(letter, sends.channel());
        if (sends.isSigned()) {
            checkSignature(letter, parts);
        }
        for (String href : letter.hrefs()) {
            boolean isThere =
                parts.stream().anyMatch(part -> href.equals("cid:" + part.contentId()));
            if (!isThere) {
                throw Refusal.error("MimeProblem", href, "MIME part not found.");
            }
        }
    }

    private void checkFlags(Letter letter, Cpa.Channel channel) throws Refusal {
        if (differs(channel.duplicateElimination(), letter.eliminatesDuplicates())) {
            throw inconsistent("//Header/MessageHeader/DuplicateElimination");
        }
        Element asked = letter.block("AckRequested");
        if (differs(channel.ackRequested(), asked != null)) {
            throw inconsistent("//Header/AckRequested");
        }
        if (asked != null) {
            String actor = asked.getAttributeNS(Names.SOAP, "actor");
            if (!actor.isEmpty() && !actor.equals(Names.TO_PARTY)) {
                throw Refusal.error(
                    "NotSupported", "//Header/AckRequested/@actor", "NextMSH not supported.");
            }
            boolean isSigned = List.of("true", "1").contains(
                asked.getAttributeNS(Names.EB, "signed"));
            if (differs(channel.ackSigned(), isSigned)) {
                throw inconsistent("//Header/AckRequested/@signed");
            }
        }
        if (channel.isSync() != letter.wantsSync()) {
            throw inconsistent("//Header/SyncReply");
        }
        if (letter.block("MessageOrder") != null) {
            throw Refusal.error("NotSupported", "//Header/MessageOrder", "MessageOrder not supported.");
        }
    }

    void checkSignature(Letter letter, List<Parcel.Part> parts) throws Refusal {
        String fault = seal == null ? "no keys here" : seal.fault(letter, parts);
        if (fault != null) {
            throw Refusal.error("SecurityFailure", "//Header/Signature", fault);
        }
    }

    /** An answer to something of ours: it must be about it, under the same CPA, from the partner. */
    void checkAbout(Letter letter, Letter ours) throws Refusal {
        if (!ours.messageId().equals(letter.refToMessageId())) {
            throw Refusal.silent("about " + letter.refToMessageId() + ", not " + ours.messageId());
        }
        if (!letter.partyIds("From").equals(ours.partyIds("To"))
            || !letter.partyIds("To").equals(ours.partyIds("From"))) {
            throw Refusal.silent("PartyIds differ from those of " + ours.messageId());
        }
        checkHeader(letter);
    }

    private static boolean differs(String agreed, boolean isThere) {
        return (agreed.equals("always") && !isThere) || (agreed.equals("never") && isThere);
    }

    private static Refusal inconsistent(String location) {
        return Refusal.error("Inconsistent", location, "Wrong or missing value.");
    }
}
