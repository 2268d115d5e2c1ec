package strictmsh;

import java.io.File;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.w3c.dom.Element;
import strictmsh.Letter.Refusal;
import strictmsh.Parcel.Part;

/** The message service: what comes in, what goes out, and again when nobody answers. */
final class Msh {
    private static final Set<Integer> FINAL_5XX = Set.of(501, 505, 510);
    private static final Set<Integer> PASSING_4XX = Set.of(408, 429);

    private final Cpa cpa;
    private final Store store;
    private final Rules rules;
    private final Seal seal;
    private final File captures;
    private final boolean isChunked;
    private final AtomicInteger captured = new AtomicInteger();
    private final Set<String> underWay = ConcurrentHashMap.newKeySet();
    private final ExecutorService posts = Executors.newFixedThreadPool(4);
    private final HttpClient client =
        HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(5)).build();
    /** What was refused or dropped, and why: one line each. */
    final List<String> log = java.util.Collections.synchronizedList(new ArrayList<>());
    /** Pongs and status responses, one line each. */
    final List<String> answers = java.util.Collections.synchronizedList(new ArrayList<>());

    Msh(Cpa cpa, Store store, Rules rules, Seal seal, File captures, boolean isChunked) {
        this.cpa = cpa;
        this.store = store;
        this.rules = rules;
        this.seal = seal;
        this.captures = captures;
        this.isChunked = isChunked;
    }

    // --- In ------------------------------------------------------------------------------------

    /** What a request is answered with; null is 204. */
    byte[] receive(String soapAction, String contentType, byte[] body) throws Refusal {
        if (!Names.SOAP_ACTION.equals(soapAction)) {
            throw Refusal.fault("Unable to process message! SOAPAction=" + soapAction);
        }
        try {
            Parcel parcel = Parcel.read(contentType, body);
            Letter letter = rules.open(parcel.envelope());
            if (!letter.isSignal()) {
                return business(letter, parcel.parts());
            }
            return signal(letter, parcel.parts());
        } catch (Refusal refusal) {
            throw refusal;
        } catch (Exception error) {
            throw Refusal.silent(error.toString());
        }
    }

    private byte[] business(Letter letter, List<Part> parts) throws Exception {
        boolean isSync = letter.wantsSync();
        String answer = store.in(() -> {
            Store.In known = store.findIn(letter.messageId());
            if (known != null) {
                log.add("duplicate " + letter.messageId());
                if (known.answer() != null && !isSync) {
                    store.again(known.answer(), signalsUri());
                }
                return known.answer();
            }
            Writing made = judged(letter, parts);
            String id = made == null ? null : made.messageId;
            boolean isRefused = made != null && made.document().getElementsByTagNameNS(
                Names.EB, "ErrorList").getLength() > 0;
            if (made != null) {
                addSignal(made, letter, isSync);
            }
            store.addIn(new Store.In(
                letter.messageId(), isRefused ? "refused" : letter.action(),
                letter.conversationId(), id, digests(letter, parts), System.currentTimeMillis()));
            return id;
        });
        return answer == null || !isSync ? null : store.in(() -> store.findOut(answer).body());
    }

    /** The acknowledgment or the error for it; null where it wants none. */
    private Writing judged(Letter letter, List<Part> parts) throws Exception {
        try {
            String ref = letter.refToMessageId();
            boolean isRefKnown =
                ref == null || store.findOut(ref) != null || store.findIn(ref) != null;
            rules.checkBusiness(letter, parts, isRefKnown);
        } catch (Refusal refusal) {
            if (refusal.location.isEmpty()) {
                throw refusal;
            }
            log.add("refused " + letter.messageId() + " " + refusal.code + " "
                + refusal.location + " " + refusal.getMessage());
            Writing error = Writing.about(letter, "MessageError");
            error.errorList(refusal.code, refusal.location, refusal.getMessage());
            return error;
        }
        Element asked = letter.block("AckRequested");
        if (asked == null) {
            return null;
        }
        boolean isSigned = List.of("true", "1").contains(asked.getAttributeNS(Names.EB, "signed"));
        Writing ack = Writing.about(letter, "Acknowledgment");
        ack.acknowledgment(letter, isSigned ? Seal.references(letter) : List.of());
        if (isSigned) {
            ack.sign(seal, List.of());
        }
        return ack;
    }

    private void addSignal(Writing made, Letter about, boolean isSync) throws Exception {
        byte[] body = Xml.bytes(made.document());
        store.addOut(new Store.Out(
            made.messageId, "signal", about.messageId(), new String(body, StandardCharsets.UTF_8),
            "text/xml; charset=UTF-8", body, signalsUri(), false, false, 0, 1, 0,
            isSync ? "answered" : "sending", ""), 0);
    }

    private static String digests(Letter letter, List<Part> parts) throws Exception {
        StringBuilder found = new StringBuilder();
        for (String href : letter.hrefs()) {
            for (Part part : parts) {
                if (href.equals("cid:" + part.contentId())) {
                    byte[] digest = MessageDigest.getInstance("SHA-256").digest(part.content());
                    found.append(found.length() == 0 ? "" : ",");
                    found.append(HexFormat.of().formatHex(digest));
                }
            }
        }
        return found.toString();
    }

    private byte[] signal(Letter letter, List<Part> parts) throws Exception {
        switch (letter.action()) {
            case "Acknowledgment", "MessageError" -> {
                store.in(() -> {
                    settled(letter, parts, false);
                    return null;
                });
                return null;
            }
            case "Ping", "StatusRequest" -> {
                rules.checkHeader(letter);
                return asked(letter);
            }
            case "Pong" -> {
                rules.checkHeader(letter);
                answers.add("Pong " + letter.refToMessageId());
                return null;
            }
            case "StatusResponse" -> {
                rules.checkHeader(letter);
                answers.add("StatusResponse " + letter.refToMessageId() + " "
                    + letter.bodyBlock("StatusResponse")
                        .getAttributeNS(Names.EB, "messageStatus"));
                return null;
            }
            default -> throw Refusal.silent("unknown signal " + letter.action());
        }
    }

    private byte[] asked(Letter letter) throws Exception {
        boolean isPing = letter.action().equals("Ping");
        Writing answer = Writing.about(letter, isPing ? "Pong" : "StatusResponse");
        if (!isPing) {
            String about = Xml.child(letter.bodyBlock("StatusRequest"), Names.EB, "RefToMessageId")
                .getTextContent().trim();
            Store.In known = store.in(() -> store.findIn(about));
            answer.statusResponse(
                about, known == null ? "NotRecognized" : "Received",
                known == null ? null : Instant.ofEpochMilli(known.at()));
        }
        if (letter.wantsSync()) {
            return Xml.bytes(answer.document());
        }
        store.in(() -> {
            addSignal(answer, letter, false);
            return null;
        });
        return null;
    }

    /** An acknowledgment or an error about something of ours. */
    private void settled(Letter letter, List<Part> parts, boolean isAnswer) throws Exception {
        Store.Out ours = letter.refToMessageId() == null
            ? null : store.findOut(letter.refToMessageId());
        if (ours == null || !ours.kind().equals("business")) {
            throw Refusal.silent("nothing of ours: " + letter.refToMessageId());
        }
        if (ours.isSync() != isAnswer || (letter.action().equals("Acknowledgment")
            && !ours.wantsAck())) {
            throw Refusal.silent("a " + letter.action() + (isAnswer ? " in the answer" : " by itself")
                + " was not expected for " + ours.id());
        }
        Letter asked = new Letter(Xml.parse(ours.document().getBytes(StandardCharsets.UTF_8)));
        rules.checkAbout(letter, asked);
        if (letter.action().equals("MessageError")) {
            store.settle(ours.id(), "failed", String.join("; ", letter.errors()));
            return;
        }
        if (asked.block("AckRequested").getAttributeNS(Names.EB, "signed").equals("true")) {
            rules.checkSignature(letter, parts);
            List<Element> copied =
                Xml.children(letter.block("Acknowledgment"), Names.DS, "Reference");
            if (!Seal.digests(copied).equals(Seal.digests(Seal.references(asked)))) {
                throw Refusal.silent("other References than those of " + ours.id());
            }
        }
        store.settle(ours.id(), "delivered", "");
    }

    // --- Out -----------------------------------------------------------------------------------

    /** A business message; its MessageId. */
    String send(String action, String conversation, String ref, List<Part> parts)
        throws Exception {
        Cpa.Binding ours = cpa.ours().find(null, action, true);
        Cpa.Binding theirs = cpa.theirs().find(null, action, false);
        Cpa.Channel channel = ours.channel();
        Writing made = Writing.business(
            cpa, ours, theirs, conversation, ref,
            channel.persists().isZero() ? null : Instant.now().plus(channel.persists()));
        made.manifest(parts);
        if (ours.isSigned()) {
            made.sign(seal, parts);
        }
        byte[] envelope = Xml.bytes(made.document());
        Parcel.Packed packed = new Parcel(envelope, parts).pack();
        boolean wantsAck = channel.ackRequested().equals("always");
        store.in(() -> {
            store.addOut(new Store.Out(
                made.messageId, "business", ref, new String(envelope, StandardCharsets.UTF_8),
                packed.contentType(), packed.body(), theirs.channel().endpoint().toString(),
                wantsAck, channel.isSync(), 0, 1 + channel.retries(),
                channel.interval().toMillis(), "sending", ""), 0);
            return null;
        });
        return made.messageId;
    }

    String ask(String action, String about) throws Exception {
        boolean isSync = cpa.ours().mshChannel().isSync();
        Writing made = Writing.question(cpa, action, isSync);
        if (about != null) {
            made.statusRequest(about);
        }
        byte[] body = Xml.bytes(made.document());
        store.in(() -> {
            store.addOut(new Store.Out(
                made.messageId, "question", null, new String(body, StandardCharsets.UTF_8),
                "text/xml; charset=UTF-8", body, signalsUri(), false, isSync, 0, 1, 0, "sending",
                ""), 0);
            return null;
        });
        return made.messageId;
    }

    private String signalsUri() {
        return cpa.theirs().mshChannel().endpoint().toString();
    }

    /** Post what is due; called again and again. */
    void poll() throws Exception {
        for (Store.Out out : store.in(() -> store.due(System.currentTimeMillis()))) {
            if (underWay.add(out.id())) {
                posts.execute(() -> {
                    try {
                        post(out);
                    } catch (Exception error) {
                        log.add("post of " + out.id() + " " + error);
                    } finally {
                        underWay.remove(out.id());
                    }
                });
            }
        }
    }

    private void post(Store.Out found) throws Exception {
        Store.Out out = store.in(() -> {
            Store.Out now = store.findOut(found.id());
            if (!now.status().equals("sending")) {
                return null;
            }
            if (now.attempts() >= now.attemptsMax()) {
                store.settle(now.id(), now.wantsAck() ? "expired" : "failed", now.note());
                return null;
            }
            store.count(now.id(), now.attempts() + 1,
                System.currentTimeMillis() + now.intervalMs(), now.note());
            return now;
        });
        if (out == null) {
            return;
        }
        capture(out.kind(), out.contentType(), out.body());
        byte[] body = out.body();
        var publisher = isChunked
            ? HttpRequest.BodyPublishers.ofInputStream(() -> new java.io.ByteArrayInputStream(body))
            : HttpRequest.BodyPublishers.ofByteArray(body);
        HttpRequest request = HttpRequest.newBuilder(URI.create(out.uri()))
            .timeout(Duration.ofSeconds(10)).header("Content-Type", out.contentType())
            .header("SOAPAction", Names.SOAP_ACTION).POST(publisher).build();
        String fault;
        boolean isFinal = false;
        try {
            var answer = client.send(request, HttpResponse.BodyHandlers.ofByteArray());
            int status = answer.statusCode();
            isFinal = (status / 100 == 4 && !PASSING_4XX.contains(status))
                || FINAL_5XX.contains(status);
            fault = status / 100 == 2 ? answered(out, answer) : "HTTP " + status + " "
                + new String(answer.body(), StandardCharsets.UTF_8);
        } catch (java.io.IOException error) {
            fault = error.toString();
        }
        note(out, fault, isFinal);
    }

    private void note(Store.Out out, String fault, boolean isFinal) throws Exception {
        if (fault != null) {
            log.add("post of " + out.id() + ": " + fault);
        }
        store.in(() -> {
            if (fault == null && !out.wantsAck()) {
                store.settle(out.id(), "sent", "");
            } else if (fault != null && (isFinal || out.attemptsMax() == 1)) {
                store.settle(out.id(), "failed", fault);
            } else if (fault != null) {
                Store.Out now = store.findOut(out.id());
                store.count(out.id(), now.attempts(),
                    System.currentTimeMillis() + out.intervalMs(), fault);
            }
            return null;
        });
    }

    /** What is wrong with a 2xx; null if nothing. */
    private String answered(Store.Out out, HttpResponse<byte[]> answer) throws Exception {
        boolean isEmpty = answer.statusCode() == 204 || answer.body().length == 0;
        if (isEmpty) {
            return out.isSync() && (out.wantsAck() || out.kind().equals("question"))
                ? "no signal in the answer" : null;
        }
        try {
            // Deployed gateways read an answer as one document, whatever its Content-Type says.
            Letter letter = rules.open(answer.body());
            if (out.kind().equals("question") && out.isSync()) {
                signal(letter, List.of());
            } else if (out.kind().equals("business")) {
                store.in(() -> {
                    settled(letter, List.of(), true);
                    return null;
                });
            } else {
                return "an answer to a " + out.kind() + " that expects none";
            }
            return null;
        } catch (Refusal refusal) {
            return "the answer: " + refusal.getMessage();
        }
    }

    /** MessageId, Action, ConversationId and digests of payloads, a line each. */
    String inbox() throws Exception {
        StringBuilder lines = new StringBuilder();
        for (Store.In one : store.in(store::listIn)) {
            lines.append(String.join("\t", one.id(), one.action(), one.conversation(),
                one.digests())).append("\n");
        }
        return lines.toString();
    }

    /** MessageId, kind, status, transmissions and what went wrong, a line each. */
    String outbox() throws Exception {
        StringBuilder lines = new StringBuilder();
        for (Store.Out one : store.in(() -> store.listOut("TRUE"))) {
            lines.append(String.join("\t", one.id(), one.kind(), one.status(),
                String.valueOf(one.attempts()), one.note().replaceAll("\\s+", " "))).append("\n");
        }
        return lines.toString();
    }

    void capture(String kind, String contentType, byte[] body) throws java.io.IOException {
        if (captures == null) {
            return;
        }
        String name = String.format("%03d-%s.http", captured.incrementAndGet(), kind);
        File written = new File(captures, name + ".part");
        try (var file = Files.newOutputStream(written.toPath())) {
            file.write(("Content-Type: " + contentType + "\r\n\r\n")
                .getBytes(StandardCharsets.US_ASCII));
            file.write(body);
        }
        // A kill leaves no file that has only a part of a package.
        Files.move(written.toPath(), new File(captures, name).toPath(),
            StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }
}
